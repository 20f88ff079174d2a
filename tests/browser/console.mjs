// The console in the system's Chromium: who sees what, what people do to records, keys and people, and what an attacker can't.

import { build, fill, mcp } from './world.mjs';
import { equal, expect, failed, launch, picture, settings, story } from './driver.mjs';
import { everyPage } from './console-pages.mjs';
import { record } from './console-record.mjs';
import { people } from './console-people.mjs';
import { work } from './console-work.mjs';
import { hostile } from './console-hostile.mjs';
import { integrations } from './console-integrations.mjs';

const browser = await launch();
const world = await build(settings);
const ids = await fill(world);
const at = (path) => `${settings.url}/console${path}`;

export async function signIn(page, key, to = '') {
  await page.goto(at(to));
  await page.fill('#key', key);
  await page.click('button[type=submit]');
  await page.waitForSelector('#nav', { state: 'attached' });
}

const MENUS = {
  member: ['Overview', 'Memory', 'Sources', 'Workspaces', 'In and out', 'Projects', 'Keys', 'Connections', 'Sessions'],
  head: ['Overview', 'Memory', 'Sources', 'Workspaces', 'In and out', 'Projects', 'Keys', 'Connections', 'People', 'Sessions'],
  admin: ['Overview', 'Memory', 'Sources', 'Workspaces', 'In and out', 'Projects', 'Keys', 'Connections', 'People', 'Integrations', 'Sessions', 'Usage', 'Audit', 'Guard'],
  operator: ['Accounts', 'Audit'],
};

for (const [who, menu] of Object.entries(MENUS)) {
  await story(browser, `console: ${who} signs in and sees its own menu`, async ({ page }) => {
    await signIn(page, world.keys[who]);
    const seen = await page.locator('.nav-link[data-key]').allInnerTexts();
    // A number may stand beside an entry, with words for those who listen.
    equal(seen.map((text) => text.replace(/\d[^]*/, '').trim()).join(), menu.join(), 'the menu');
  });
}

await story(browser, 'console: a wrong key is refused, and a right one then works', async ({ page }) => {
  await page.goto(at('/keys'));
  await page.fill('#key', `${world.keys.admin.slice(0, -1)}${world.keys.admin.endsWith('0') ? '1' : '0'}`);
  await page.click('button[type=submit]');
  expect((await page.textContent('[role=alert]')).startsWith('This key was not accepted.'), 'the notice is missing');
  equal(await page.inputValue('#key'), '', 'the field');
  await page.fill('#key', world.keys.admin);
  await page.click('button[type=submit]');
  await page.waitForURL(at('/keys'));
});

await story(browser, 'console: a read key has no button that changes anything', async ({ page }) => {
  await signIn(page, world.keys.read);
  for (const path of ['/memory', `/records/${ids.tuesday}`, '/sources', '/workspaces', '/keys', '/connections', '/sessions']) {
    await page.goto(at(path));
    expect((await page.textContent('.notice')).startsWith('This key may only read.'), `no remark on ${path}`);
    const forms = await page.locator('main form[method=post], .pop form[method=post]').count();
    equal(forms, 0, `the forms on ${path}`);
  }
});

await story(browser, 'console: search by keys, open the record, read the reason, go back', async ({ page }) => {
  await signIn(page, world.keys.admin);
  await page.keyboard.press('/');
  await page.waitForFunction(() => document.activeElement?.id === 'q');
  await page.keyboard.type('which day do we deploy');
  await page.keyboard.press('Enter');
  await page.waitForSelector('.rec-score');
  await picture(page, 'console-search');
  await page.keyboard.press('j');
  await page.keyboard.press('e');
  equal(await page.locator('details.why[open]').count(), 1, 'the open explanations');
  await page.keyboard.press('o');
  await page.waitForSelector('.fact');
  expect((await page.textContent('.because')).length > 5, 'no reason is given');
  await page.goBack();
  await page.waitForSelector('.rec-score');
});

await story(browser, 'console: a changed source makes a record stale, and it still holds', async ({ page }) => {
  await signIn(page, world.keys.admin, '/sources');
  const row = page.locator('tr', { hasText: 'infra/rollout.yaml' });
  expect((await row.textContent()).includes('changed'), 'the source is not marked as changed');
  await page.goto(at(`/records/${ids.canary}`));
  equal((await page.textContent('.verdict-head')).trim(), 'Why it is stale', 'the verdict');
  await picture(page, 'console-stale');
  await page.click('[popovertarget=still]');
  await page.click('#still button[type=submit]');
  await page.waitForSelector('.toast');
  equal((await page.textContent('.fact .chip')).trim(), 'unverified', 'the status afterwards');
});

await story(browser, 'console: rivals side by side; one is kept, and undone', async ({ page }) => {
  await signIn(page, world.keys.admin, `/records/${ids.tuesday}`);
  equal(await page.locator('.rival').count(), 2, 'the rivals');
  await picture(page, 'console-conflict');
  await page.click('.rival >> nth=0 >> text=Keep this one');
  await page.click(`[id="keep-${ids.tuesday}"] button[type=submit]`);
  await page.waitForSelector('.toast');
  equal(await page.locator('.rival').count(), 0, 'the rivals afterwards');
  await page.click('.toast >> text=Undo');
  await page.waitForSelector('.toast >> text=restored');
  equal(await page.locator('.rival').count(), 2, 'the rivals after undoing');
});

await story(browser, 'console: forget, undo, forget, restore, and remove for good', async ({ page }) => {
  const forget = async () => {
    await page.click('[popovertarget=forget]');
    await page.click('#forget button[type=submit]');
    await page.waitForSelector('.verdict.is-gone');
  };
  await signIn(page, world.keys.admin, `/records/${ids.spare}`);
  await forget();
  await picture(page, 'console-forgotten');
  await page.click('.toast >> text=Undo');
  await page.waitForSelector('.fact.is-unverified');
  await forget();
  await page.goto(at('/memory?state=forgotten'));
  await page.click('text=The spare printer');
  await page.click('main form button:has-text("Restore")');
  await page.waitForSelector('.fact.is-unverified');
  await forget();
  await page.click('text=Remove for good now');
  expect((await page.textContent('#purge')).includes('This can’t be undone.'), 'the window does not warn');
  await page.click('#purge button[type=submit]');
  await page.waitForSelector('.toast >> text=removed for good');
  equal((await page.goto(at(`/records/${ids.spare}`))).status(), 404, 'the record afterwards');
});

await story(browser, 'console: a key is shown once, works, and its end ends its sessions', async ({ page, context }) => {
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  await signIn(page, world.keys.admin, '/keys');
  await page.click('text=Make a key');
  await page.fill('#k-l', 'Story');
  await page.click('#make-key button[type=submit]');
  await page.waitForSelector('#secret');
  await picture(page, 'console-key-made');
  const secret = (await page.textContent('#secret')).trim();
  await page.click('text=Copy the key');
  equal(await page.evaluate(() => navigator.clipboard.readText()), secret, 'what was copied');
  expect((await mcp(settings.url, secret, 'tools/list', {})).result.tools.length >= 4, 'the key does not work');
  page.on('dialog', (dialog) => dialog.accept());
  await page.reload();
  expect(!(await page.content()).includes(secret), 'the secret is shown again');
  const other = await browser.newContext();
  const theirs = await other.newPage();
  await signIn(theirs, secret);
  await page.goto(at('/keys'));
  const row = page.locator('tr', { hasText: 'Story' }).first();
  await row.locator('text=Revoke').click();
  await page.click('.pop:popover-open button[type=submit]');
  await page.waitForSelector('.toast >> text=Key revoked');
  await theirs.goto(at('/memory'));
  expect(theirs.url().includes('/console/sign-in'), 'the session outlived its key');
  await other.close();
});

await story(browser, 'console: a source is checked on its own page', async ({ page }) => {
  await signIn(page, world.keys.admin, '/sources');
  await page.locator('tr', { hasText: 'infra/rollout.yaml' }).locator('a.btn').click();
  await page.waitForSelector('#check-h');
  await page.fill('#hash', 'story-hash-of-today');
  await page.click('main form button:has-text("Check")');
  await page.waitForSelector('.toast >> text=Checked infra/rollout.yaml');
});

await story(browser, 'console: a session elsewhere is listed and ended', async ({ page }) => {
  const other = await browser.newContext();
  const theirs = await other.newPage();
  await signIn(theirs, world.keys.member);
  await theirs.goto(at('/connections'));
  equal(await theirs.locator('#browsers tbody tr:has-text("this one")').count(), 1, 'the sessions that a member sees');
  await signIn(page, world.keys.admin, '/connections');
  await picture(page, 'console-browsers');
  const row = page.locator('#browsers tbody tr').first();
  expect(!(await row.textContent()).includes('this one') || (await page.locator('#browsers tbody tr').count()) > 1, 'the other session is not listed');
  await page.locator('#browsers tbody tr:not(:has-text("this one"))').first().locator('text=End').click();
  await page.click('.pop:popover-open button[type=submit]');
  await page.waitForSelector('.toast >> text=Session ended');
  await theirs.goto(at('/memory'));
  expect(theirs.url().includes('/console/sign-in'), 'the session goes on after it was ended');
  await page.goto(at('/audit'));
  expect((await page.textContent('main')).includes('ended a console session of'), 'the audit log does not say so');
  await other.close();
});

await story(browser, 'console: a member leaves, and only its heir sees the drafts', async ({ page }) => {
  await signIn(page, world.keys.admin, '/people');
  await page.click(`a[href*="remove=${world.people.leaver}"]`);
  expect((await page.textContent('#leaving')).includes('1 record'), 'the window does not say what the member has');
  await picture(page, 'console-hand-over');
  await page.selectOption('#heir', world.people.head);
  await page.click('#leaving button[type=submit]');
  await page.waitForSelector('.toast >> text=handed over');
  equal((await page.goto(at(`/records/${ids.draft}`))).status(), 404, 'the draft for the admin');
  await page.context().clearCookies();
  await signIn(page, world.keys.head, `/records/${ids.draft}`);
  expect((await page.textContent('.fact-text')).startsWith('My own note'), 'the heir does not see the draft');
});

await story(browser, 'console: the light waits, a click does not turn it on, and the first call does', async ({ page }) => {
  const made = await world.api('POST', `/projects/${world.project}/keys`, { member_id: world.people.member, access: 'write', label: 'Lamp' });
  await signIn(page, made.key, '/connect');
  await page.goto(at('/memory'));
  await page.goto(at(`/connect?key=${made.key_id}`));
  await page.waitForSelector('.light.is-waiting');
  await mcp(settings.url, made.key, 'tools/list', {});
  await page.waitForSelector('.light.is-on', { timeout: 10_000 });
  equal((await page.textContent('[data-light-title]')).trim(), 'First call seen', 'the light');
});

await work(browser, world, ids, signIn);
await record(browser, world, ids, signIn);
await people(browser, world, signIn);
await integrations(browser, world, signIn);
await everyPage(browser, world, ids, signIn);
await hostile(browser, world, ids, signIn);
await browser.close();
process.exit(failed === 0 ? 0 : 1);
