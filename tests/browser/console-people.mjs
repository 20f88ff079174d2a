// The people side: inviting somebody, going from project to project, changing a key, and taking records out and in.

import { readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { equal, expect, picture, settings, stopwatch, story } from './driver.mjs';

export async function people(browser, world, signIn) {
  await story(browser, 'console: an invitation takes four clicks, and its link shows the key once', async ({ page, context }) => {
    await signIn(page, world.keys.admin, '/memory');
    const watch = stopwatch(page);
    await watch.click('a[href="/console/people"]');
    await watch.click('[popovertarget=invite]');
    await picture(page, 'console-invite');
    await page.fill('#i-n', 'Noor Haddad');
    await watch.click('#invite button[type=submit]');
    const link = (await page.textContent('#link')).trim();
    await picture(page, 'console-hand-over');
    await watch.click('[data-copy=link]');
    await watch.tell('to invite a person', 4);
    await context.clearCookies();
    await page.goto(link);
    await picture(page, 'console-link');
    await page.click('text=Show the key');
    const key = (await page.textContent('#secret')).trim();
    expect(key.startsWith('mnm_'), `it shows ${key.slice(0, 4)}…`);
    await picture(page, 'console-link-opened');
    const answer = await page.goto(link);
    equal(answer.status(), 410, 'the second look');
    expect((await page.textContent('h1')).includes('opened before'), 'it does not say that it was opened');
    await signIn(page, key, '/memory');
    expect((await page.textContent('.who')).includes('Noor Haddad'), 'the key is somebody else’s');
  });

  await story(browser, 'console: a project is made, and its maker goes there and back', async ({ page }) => {
    await signIn(page, world.keys.admin, '/projects');
    const here = (await page.textContent('.place b')).trim();
    await page.click('[popovertarget=pro-new]');
    await page.fill('#pr-n', 'Night shift');
    await page.click('#pro-new button[type=submit]');
    await page.waitForSelector('#secret');
    await picture(page, 'console-projects');
    const go = (name) => page.click(`tr:has-text("${name}") >> text=Go there`);
    await go('Night shift');
    equal((await page.textContent('.place b')).trim(), 'Night shift', 'where it is');
    await page.goto(`${settings.url}/console/projects`);
    await go(here);
    equal((await page.textContent('.place b')).trim(), here, 'where it is again');
  });

  await story(browser, 'console: a key gets another label and an end', async ({ page }) => {
    await signIn(page, world.keys.admin, '/keys');
    await page.click('tr[data-row] >> text=Change');
    await page.fill('#kc-l', 'A desk in the attic');
    await page.fill('#kc-u', '2100-01-31');
    await picture(page, 'console-key-change');
    await page.click('#key-change button[type=submit]');
    await page.waitForSelector('.toast >> text=A desk in the attic');
  });

  await story(browser, 'console: an export takes two clicks, and is looked at before it is imported', async ({ page }) => {
    await signIn(page, world.keys.admin, '/memory');
    const watch = stopwatch(page);
    await watch.click('a[href="/console/moving"]');
    const [download] = await Promise.all([page.waitForEvent('download'), watch.click('text=Export as JSON Lines')]);
    await watch.tell('to export everything', 2);
    const text = readFileSync(await download.path(), 'utf8');
    expect(text.trim().split('\n').at(-1).includes('"end"'), 'the file is not whole');
    // As much again as fits into one piece, so that progress is made in several.
    const fresh = Array.from({ length: 4000 }, (_, at) => JSON.stringify({ type: 'record', content: `Shelf ${at} holds ${'boxes '.repeat(20)}` }));
    const file = join(tmpdir(), `mnemon-import-${process.pid}.jsonl`);
    writeFileSync(file, `${text}${fresh.join('\n')}\n`);
    await page.setInputFiles('#f-f', file);
    await page.click('text=Look what would happen');
    await page.waitForSelector('[data-import-report] >> text=4,000 would be saved');
    await picture(page, 'console-import');
    equal(await page.getAttribute('progress', 'value'), '100', 'how far it came');
  });
}
