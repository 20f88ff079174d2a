// Every page of the console: whether it fits, is accessible, breaks no rule of its own policy, and is small.

import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';
import { equal, expect, picture, settings, story, together } from './driver.mjs';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const BYTES_MAX = 100_000;
// As the service sends them.
const files = (await fetch(`${settings.url}/console/sign-in`).then((answer) => answer.text())).match(/\/console\/assets\/console\.[^"]+/g);
const STYLE_AND_SCRIPT = (await Promise.all(files.map((file) => fetch(settings.url + file).then((answer) => answer.text()))))
  .reduce((sum, text) => sum + Buffer.byteLength(text), 0);
// 720 is a window of 1440 at 200 %.
const WIDTHS = [1280, 1440, 1024, 768, 720, 390, 320];
// The style sheet changes the layout at 640, 860 and 1080 px: axe looks at one width of each part.
const AXE_WIDTHS = [1280, 1024, 768, 320];

export async function everyPage(browser, world, ids, signIn) {
  const pages = {
    admin: {
      overview: '/overview', memory: '/memory', compact: '/memory?view=compact', sorted: '/memory?sort=fact_key', search: '/memory?q=which+day+do+we+deploy', more: '/memory?q=deploy&n=20', none: '/memory?q=zzxqy',
      forgotten: '/memory?state=forgotten', stale: `/records/${ids.canary2}`, conflict: `/records/${ids.tuesday}`, long: `/records/${ids.long}`,
      sources: '/sources', changed: '/sources?show=changed', unfound: '/sources?q=zzxqy', source: '/sources?one=docs%2Fdeploy.md', workspaces: '/workspaces', keys: '/keys', projects: '/projects', moving: '/moving', connections: '/connections', 'keys-sorted': '/keys?sort=calls', 'people-sorted': '/people?sort=role', 'audit-people': '/audit?what=people',
      people: '/people', leaving: `/people?remove=${world.people.robot}`, last: `/people?remove=${world.people.admin}`, platform: `/people?department=${world.departments.platform}`, integrations: '/integrations', sessions: '/sessions',
      usage: '/usage', audit: '/audit', guard: '/guard', connect: '/connect', missing: '/records/none',
    },
    member: { 'member-overview': '/overview', 'member-forgotten': '/memory?state=forgotten', 'member-memory': '/memory', 'member-keys': '/keys', 'member-sessions': '/sessions' },
    read: { 'read-record': `/records/${ids.tuesday}` },
    operator: { operator: '/operator', 'operator-audit': '/audit' },
  };
  const tasks = Object.entries(pages).flatMap(([who, list]) => ['light', 'dark'].map((colorScheme) => () =>
    story(browser, `console: pages of ${who}, ${colorScheme}, at ${WIDTHS.length} widths`, async ({ page }) => {
      const violations = [];
      page.on('console', (message) => /Content Security Policy|TrustedHTML/.test(message.text()) && violations.push(message.text()));
      await signIn(page, world.keys[who]);
      for (const [name, path] of Object.entries(list)) await sweep(page, name, path, colorScheme);
      equal(violations.join('; '), '', 'what the policy refused');
    }, { colorScheme, viewport: { width: WIDTHS[0], height: 900 } })));
  await together(tasks);
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

/** One page at every width. */
async function sweep(page, name, path, colorScheme) {
  await open(page, name, path, colorScheme === 'light');
  const axe = await inspector(page);
  for (const width of WIDTHS) {
    await page.setViewportSize({ width, height: 900 });
    await fits(page, `${name} at ${width} px`, colorScheme);
    if (AXE_WIDTHS.includes(width)) equal((await axe.run()).join('; '), '', `what axe finds on ${name} at ${width} px`);
    await picture(page, `page-${name}-${colorScheme}-${width}`);
  }
  await axe.end();
}

/** One page as wide as it is. */
export async function visit(page, name, path, { colorScheme = 'dark' } = {}) {
  await open(page, name, path, false);
  await fits(page, name, colorScheme);
  const axe = await inspector(page);
  equal((await axe.run()).join('; '), '', `what axe finds on ${name}`);
  await axe.end();
}

async function open(page, name, path, tells) {
  const began = Date.now();
  const answer = await page.goto(`${settings.url}/console${path}`);
  const took = Date.now() - began;
  const html = (await answer.body()).length;
  const bytes = html + STYLE_AND_SCRIPT;
  if (tells) console.log(`        ${String(html).padStart(6)} bytes of HTML, ${String(took).padStart(4)} ms to load: ${path.slice(0, 60)}`);
  expect(bytes < BYTES_MAX, `${name} has ${bytes} bytes with its style and script`);
}

async function fits(page, name, colorScheme) {
  const [content, window] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
  expect(content <= window, `${name} is ${content} wide in a window of ${window}`);
  // What fits on one line, as a time does, may be short.
  const narrow = await page.evaluate(() => {
    const lines = (cell) => {
      const text = document.createRange();
      text.selectNodeContents(cell);
      return new Set([...text.getClientRects()].filter((part) => part.width > 0).map((part) => Math.round(part.bottom))).size;
    };
    const cells = [...document.querySelectorAll('tbody td:first-child')];
    return cells.find((cell) => cell.getBoundingClientRect().width < 120 && lines(cell) > 1)?.textContent.trim();
  });
  expect(!narrow, `the first column of ${name} is too narrow for “${narrow}”`);
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
async function inspector(page) {
  const session = await page.context().newCDPSession(page);
  const { frameTree } = await session.send('Page.getFrameTree');
  const { executionContextId } = await session.send('Page.createIsolatedWorld', { frameId: frameTree.frame.id });
  const run = (expression) => session.send('Runtime.evaluate', { expression, contextId: executionContextId, awaitPromise: true, returnByValue: true });
  await run(axe);
  const judge = async () => {
    const { result, exceptionDetails } = await run(`axe.run(document, { resultTypes: ['violations'] }).then((found) =>
      found.violations.map((one) => one.id + ' (' + one.impact + '): ' + one.nodes.map((node) => node.target.join(' ')).slice(0, 3).join(', ')))`);
    if (exceptionDetails) throw new Error(`axe did not run: ${exceptionDetails.text} ${exceptionDetails.exception?.description ?? ''}`);
    return result.value;
  };
  return { run: judge, end: () => session.detach() };
}
