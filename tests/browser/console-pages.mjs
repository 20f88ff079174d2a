// Every page of the console: whether it fits, is accessible, breaks no rule of its own policy, and is small.

import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';
import { equal, expect, picture, settings, story } from './driver.mjs';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const BYTES_MAX = 100_000;
const file = (name) => readFileSync(new URL(`../../crates/server/templates/console/${name}`, import.meta.url)).length;
const STYLE_AND_SCRIPT = file('console.css') + file('console.js');
// 720 is a window of 1440 at 200 %.
const SIZES = [['light', 1280], ['dark', 1280], ['light', 390], ['dark', 390], ['light', 320], ['light', 720], ['light', 768], ['light', 1024], ['dark', 1440]];

export async function everyPage(browser, world, ids, signIn) {
  const pages = {
    admin: {
      memory: '/memory', search: '/memory?q=which+day+do+we+deploy', more: '/memory?q=deploy&n=25', none: '/memory?q=zzxqy',
      forgotten: '/memory?state=forgotten', stale: `/records/${ids.canary2}`, conflict: `/records/${ids.tuesday}`, long: `/records/${ids.long}`,
      sources: '/sources', changed: '/sources?show=changed', unfound: '/sources?q=zzxqy', source: '/sources?one=docs%2Fdeploy.md', workspaces: '/workspaces', keys: '/keys', connections: '/connections',
      people: '/people', leaving: `/people?remove=${world.people.robot}`, last: `/people?remove=${world.people.admin}`, platform: `/people?department=${world.departments.platform}`, integrations: '/integrations', sessions: '/sessions',
      usage: '/usage', audit: '/audit', guard: '/guard', connect: '/connect', missing: '/records/none',
    },
    member: { 'member-memory': '/memory', 'member-keys': '/keys', 'member-sessions': '/sessions' },
    read: { 'read-record': `/records/${ids.tuesday}` },
    operator: { operator: '/operator', 'operator-audit': '/audit' },
  };
  for (const [who, list] of Object.entries(pages)) {
    for (const [colorScheme, width] of SIZES) {
      const options = { colorScheme, viewport: { width, height: 900 } };
      await story(browser, `console: pages of ${who}, ${colorScheme}, ${width} px`, async ({ page }) => {
        const violations = [];
        page.on('console', (message) => /Content Security Policy|TrustedHTML/.test(message.text()) && violations.push(message.text()));
        await signIn(page, world.keys[who]);
        for (const [name, path] of Object.entries(list)) {
          await visit(page, name, path, { tells: width === 1280 && colorScheme === 'light', colorScheme });
          await picture(page, `page-${name}-${colorScheme}-${width}`);
        }
        equal(violations.join('; '), '', 'what the policy refused');
      }, options);
    }
  }
  await story(browser, 'console: it works without script', async ({ page }) => {
    await signIn(page, world.keys.admin);
    for (const [name, path] of Object.entries(pages.admin)) {
      await page.goto(`${settings.url}/console${path}`);
      expect((await page.locator('h1').count()) === 1, `${name} has no heading`);
    }
    await page.goto(`${settings.url}/console/records/${ids.spare2}`);
    await page.click('[popovertarget=forget]');
    await page.click('#forget button[type=submit]');
    await page.waitForSelector('.verdict.is-gone');
    await page.click('.toast >> text=Undo');
    await page.waitForSelector('.fact.is-unverified');
    await page.click('button[value=dark]');
    await page.waitForSelector('html[data-theme=dark]');
  }, { javaScriptEnabled: false, viewport: { width: 1280, height: 900 } });
  await story(browser, 'console: the choice of a theme is kept', async ({ page }) => {
    await signIn(page, world.keys.admin);
    const posted = page.waitForResponse((answer) => answer.url().endsWith('/console/theme'));
    await page.click('button[value=dark]');
    equal(await page.getAttribute('html', 'data-theme'), 'dark', 'the theme at once');
    await posted;
    await page.reload();
    equal(await page.getAttribute('html', 'data-theme'), 'dark', 'the theme after a reload');
  }, { viewport: { width: 1280, height: 900 } });
}

export async function visit(page, name, path, { tells = false, colorScheme = 'dark' } = {}) {
  const began = Date.now();
  const answer = await page.goto(`${settings.url}/console${path}`);
  const took = Date.now() - began;
  const html = (await answer.body()).length;
  const bytes = html + STYLE_AND_SCRIPT;
  if (tells) console.log(`        ${String(html).padStart(6)} bytes of HTML, ${String(took).padStart(4)} ms to load: ${path.slice(0, 60)}`);
  expect(bytes < BYTES_MAX, `${name} has ${bytes} bytes with its style and script`);
  const [content, window] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
  expect(content <= window, `${name} is ${content} wide in a window of ${window}`);
  const narrow = await page.evaluate(() => [...document.querySelectorAll('tbody td:first-child')].find((cell) => cell.getBoundingClientRect().width < 120)?.textContent.trim());
  expect(!narrow, `the first column of ${name} is too narrow for “${narrow}”`);
  const found = await inspect(page);
  equal(found.join('; '), '', `what axe finds on ${name}`);
  if (colorScheme === 'light') await widen(page, name);
}

// What people set who read with other fonts or wider letters (WCAG 1.4.12).
const FONT = '* { font-family: "DejaVu Sans", sans-serif !important; }';
const SPACING = '* { line-height: 1.5 !important; letter-spacing: .12em !important; word-spacing: .16em !important; } p { margin-bottom: 2em !important; }';

async function widen(page, name) {
  for (const [what, css] of [['another font', FONT], ['wide letters', SPACING]]) {
    // A sheet made by script is not part of the page, so the page's policy does not apply.
    const [content, window] = await page.evaluate((text) => {
      const sheet = new CSSStyleSheet();
      sheet.replaceSync(text);
      document.adoptedStyleSheets = [sheet];
      const sizes = [document.documentElement.scrollWidth, innerWidth];
      document.adoptedStyleSheets = [];
      return sizes;
    }, css);
    expect(content <= window, `${name} is ${content} wide in a window of ${window} with ${what}`);
  }
}

/** axe runs in a world of its own, so that the page's policy does not refuse it. */
async function inspect(page) {
  const session = await page.context().newCDPSession(page);
  const { frameTree } = await session.send('Page.getFrameTree');
  const { executionContextId } = await session.send('Page.createIsolatedWorld', { frameId: frameTree.frame.id });
  const run = (expression) => session.send('Runtime.evaluate', { expression, contextId: executionContextId, awaitPromise: true, returnByValue: true });
  await run(axe);
  const { result, exceptionDetails } = await run(`axe.run(document, { resultTypes: ['violations'] }).then((found) =>
    found.violations.map((one) => one.id + ' (' + one.impact + '): ' + one.nodes.map((node) => node.target.join(' ')).slice(0, 3).join(', ')))`);
  await session.detach();
  if (exceptionDetails) throw new Error(`axe did not run: ${exceptionDetails.text} ${exceptionDetails.exception?.description ?? ''}`);
  return result.value;
}
