// Working in the console: records are written and replaced, mistakes are taken back, and windows keep the focus.

import { equal, expect, picture, settings, stopwatch, story } from './driver.mjs';

const at = (path) => `${settings.url}/console${path}`;

export async function work(browser, world, ids, signIn) {
  const text = (page) => page.textContent('.fact-text');

  await story(browser, 'console: a record is added, and replaced in three clicks', async ({ page }) => {
    await signIn(page, world.keys.admin, '/memory');
    await page.click('[popovertarget=rec-new]');
    equal(await page.evaluate(() => document.activeElement?.id), 'w-c', 'what has the focus');
    await picture(page, 'console-add');
    await page.keyboard.type('The office opens at seven.');
    await page.fill('#w-k', 'office.opens');
    await page.fill('#w-s', 'handbook/office.md');
    await page.click('#rec-new button[type=submit]');
    await page.waitForSelector('.fact-text');
    const watch = stopwatch(page);
    await watch.click('[popovertarget=replace]');
    await picture(page, 'console-replace');
    await page.fill('#r-c', 'The office opens at eight.');
    await watch.click('#replace button[type=submit]');
    await page.waitForSelector('.toast >> text=in the place of 1 record');
    await watch.tell('to replace a wrong fact', 3);
    equal(await text(page), 'The office opens at eight.', 'the new text');
    expect((await page.textContent('.facts')).includes('office.opens'), 'the key was lost');
  });

  await story(browser, 'console: what was forgotten of a source comes back with one click', async ({ page }) => {
    for (const part of ['one', 'two', 'three']) await world.remember(world.keys.admin, { content: `Part ${part} of the recipe.`, source_id: 'recipe.md' });
    await signIn(page, world.keys.admin, '/sources?one=recipe.md&workspace=default');
    await page.click('[popovertarget=forget-source]');
    await page.click('#forget-source button[type=submit]');
    await page.waitForSelector('.notice >> text=3 records forgotten');
    await picture(page, 'console-source-forgotten');
    const watch = stopwatch(page);
    await watch.click('.notice >> text=Undo');
    await page.waitForSelector('.toast >> text=3 records restored');
    await watch.tell('to undo a forgotten source', 1);
    expect((await page.textContent('.table')).includes('recipe.md'), 'the source is not listed again');
  });

  await story(browser, 'console: a refused form keeps what was typed, without script too', async ({ page }) => {
    await signIn(page, world.keys.admin, '/integrations');
    await page.click('[popovertarget=int-new]');
    await page.selectOption('#i-p', 'url');
    await page.fill('#i-n', 'My Wiki');
    await page.fill('#i-u', 'https://wiki.example/mcp');
    await page.click('#int-new button[type=submit]');
    await page.waitForSelector('#int-new [role=alert]');
    await picture(page, 'console-refused');
    equal(await page.inputValue('#i-n'), 'My Wiki', 'the name');
    equal(await page.inputValue('#i-u'), 'https://wiki.example/mcp', 'the address');
    equal(await page.evaluate(() => document.activeElement?.id), 'i-n', 'what has the focus');
  });

  await story(browser, 'console: after the session has ended an act leads to its page', async ({ page, context }) => {
    await signIn(page, world.keys.admin, `/records/${ids.spare2}`);
    await context.clearCookies();
    await page.click('[popovertarget=forget]');
    await page.click('#forget button[type=submit]');
    expect((await page.textContent('[role=alert]')).includes('nothing was changed'), 'the notice is missing');
    await page.fill('#key', world.keys.admin);
    await page.click('button[type=submit]');
    await page.waitForSelector('.fact-text');
    equal(page.url(), at(`/records/${ids.spare2}`), 'where it leads');
  });

  await story(browser, 'console: a window keeps the focus and gives it back; ? lists every key', async ({ page }) => {
    await signIn(page, world.keys.admin, `/records/${ids.rollback}`);
    await page.focus('[popovertarget=forget]');
    await page.keyboard.press('Enter');
    for (let step = 0; step < 6; step += 1) {
      await page.keyboard.press('Tab');
      expect(await page.evaluate(() => Boolean(document.activeElement.closest('#forget'))), `Tab ${step} left the window`);
    }
    await page.keyboard.press('Escape');
    equal(await page.evaluate(() => document.activeElement?.getAttribute('popovertarget')), 'forget', 'what has the focus afterwards');
    await page.evaluate(() => document.activeElement.blur());
    await page.keyboard.press('?');
    const listed = await page.textContent('#keys-help');
    for (const name of ['Memory', 'Sources', 'Workspaces', 'Keys', 'Connections', 'People', 'Integrations', 'Sessions', 'Usage', 'Audit', 'Guard']) {
      expect(listed.includes(name), `${name} is not listed`);
    }
    await page.keyboard.press('Escape');
    await page.goto(at('/usage'));
    await page.keyboard.press('/');
    await page.waitForURL(at('/memory#q'));
    equal(await page.evaluate(() => document.activeElement?.id), 'q', 'what / leads to');
  }, { viewport: { width: 1280, height: 900 } });

  await story(browser, 'console: the menu stays while a long page is scrolled', async ({ page }) => {
    await signIn(page, world.keys.admin, '/memory');
    await page.evaluate(() => scrollTo(0, document.body.scrollHeight));
    const top = await page.evaluate(() => document.querySelector('.side').getBoundingClientRect().top);
    expect(Math.abs(top) <= 2, `the menu is at ${top}`);
  }, { viewport: { width: 1280, height: 600 } });
}
