// The pictures of README and docs, of a small company's memory on a real service.

import { build, fill } from './world.mjs';
import { expect, launch, settings, story } from './driver.mjs';
import { statSync } from 'node:fs';

const BYTES_MAX = 150_000;
const browser = await launch();
const world = await build(settings);
const ids = await fill(world);
const calls = ['which day do we deploy', 'how do we roll back', 'who may deploy in the freeze', 'retries of carriers', 'phone numbers of drivers'];
for (const query of [...calls, ...calls]) await world.tool(world.keys.robot, 'search', { query });

const PICTURES = [
  ['console-memory', 'light', { width: 1280, height: 800 }, '/memory?q=which+day+do+we+deploy'],
  ['console-conflict', 'light', { width: 1280, height: 800 }, `/records/${ids.tuesday}`],
  ['console-sources', 'dark', { width: 1280, height: 640 }, '/sources'],
  ['console-phone', 'light', { width: 390, height: 780 }, '/memory'],
];
for (const [name, colorScheme, viewport, path] of PICTURES) {
  await story(browser, `picture ${name}`, async ({ page }) => {
    await page.goto(`${settings.url}/console${path}`);
    await page.fill('#key', world.keys.admin);
    await page.click('button[type=submit]');
    await page.waitForSelector('main h1');
    const file = `${settings.pictures}/${name}.png`;
    await page.screenshot({ path: file });
    expect(statSync(file).size <= BYTES_MAX, `${name} has ${statSync(file).size} bytes`);
  }, { colorScheme, viewport });
}
await browser.close();
