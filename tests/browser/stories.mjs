// What a person sees on the page that connects a client, in the system's Chromium. One line per story.
// Settings come as JSON in the first argument: url and key of a service, the same of one whose clock the file `clock` moves,
// the browser's path, and a folder for pictures.

import { createServer } from 'node:http';
import { writeFileSync } from 'node:fs';
import { randomBytes, createHash } from 'node:crypto';
import { chromium } from 'playwright-core';

const settings = JSON.parse(process.argv[2]);
const FLAGS = ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
  '--disable-background-networking', '--disable-component-update', '--disable-sync'];
const WAIT_MS = 15_000;

let failed = 0;
const site = await startSite();
const browser = await chromium.launch({ executablePath: settings.chromium, args: FLAGS });

await story('the page is filled in and the redirect arrives with code, state and issuer', async ({ page, ask }) => {
  await page.goto(ask.url);
  equal(await page.evaluate(() => document.activeElement?.id), 'key', 'what has the focus');
  await page.keyboard.type(settings.key);
  await page.keyboard.press('Enter');
  const back = await site.visit(ask.state);
  equal(back.query.get('iss'), settings.url, 'iss');
  expect(back.query.get('code')?.startsWith('mnc_'), 'no code came');
  equal(back.headers.referer, undefined, 'the referrer');
  expect(!page.url().includes('mnm_') && !JSON.stringify(back.headers).includes('mnm_'), 'the key went along');
  const token = await exchange(ask, back.query.get('code'));
  const listed = await mcp(token, 'tools/list', {});
  equal(listed.result.tools.map((tool) => tool.name).join(), 'remember,search,forget,validate_memory', 'the tools');
});

await story('it works without script', async ({ ask }) => {
  const context = await browser.newContext({ javaScriptEnabled: false });
  const page = await context.newPage();
  await page.goto(ask.url);
  await page.fill('#key', settings.key);
  await page.click('text=Connect >> nth=-1');
  expect((await site.visit(ask.state)).query.get('code'), 'no code came');
  await context.close();
});

await story('a wrong key gets a clear error, the form stays, and the right key works', async ({ page, ask }) => {
  await page.goto(ask.url);
  await submit(page, settings.key.slice(0, -1) + (settings.key.endsWith('0') ? '1' : '0'));
  await page.waitForSelector('[role=alert]');
  expect((await page.textContent('[role=alert]')).startsWith('This key was rejected.'), 'the notice is missing');
  equal(await page.inputValue('#key'), '', 'the field');
  await picture(page, 'wrong-key');
  await submit(page, settings.key);
  expect((await site.visit(ask.state)).query.get('code'), 'no code came');
});

await story('two windows of one browser both work', async ({ page, context, ask }) => {
  const [other, second] = [await context.newPage(), await newRequest(settings)];
  await page.goto(ask.url);
  await other.goto(second.url);
  await submit(page, settings.key);
  expect((await site.visit(ask.state)).query.get('code'), 'no code came to the first window');
  await submit(other, settings.key);
  expect((await site.visit(second.state)).query.get('code'), 'no code came to the second window');
});

await story('a form of another browser does nothing, and can be sent again', async ({ page, context, ask }) => {
  await page.goto(ask.url);
  await context.clearCookies();
  await submit(page, settings.key);
  await page.waitForSelector('[role=alert]');
  expect((await page.textContent('[role=alert]')).startsWith('This form was not sent from this page'), 'the notice is missing');
  await submit(page, settings.key);
  expect((await site.visit(ask.state)).query.get('code'), 'no code came');
});

await story('a page that was open for too long asks again', async ({ page }) => {
  const ask = await newRequest(settings.movable);
  await page.goto(ask.url);
  writeFileSync(settings.clock, '+11m\n');
  await submit(page, settings.movable.key);
  await page.waitForSelector('[role=alert]');
  expect((await page.textContent('[role=alert]')).startsWith('This page was open for too long,'), 'the notice is missing');
  await submit(page, settings.movable.key);
  expect((await site.visit(ask.state)).query.get('code'), 'no code came');
});

await story('cancelling returns to the client with the refusal', async ({ page, ask }) => {
  await page.goto(ask.url);
  await page.click('text=Cancel');
  const back = await site.visit(ask.state);
  equal(back.query.get('error'), 'access_denied', 'error');
  equal(back.query.get('iss'), settings.url, 'iss');
});

await story('an unknown client gets an error here, and nobody is redirected', async ({ page, ask }) => {
  const url = new URL(ask.url);
  url.searchParams.set('client_id', 'nobody');
  equal((await page.goto(url.href)).status(), 400, 'the status');
  equal(await page.locator('#key').count(), 0, 'fields for a key');
  expect(page.url().startsWith(settings.url), 'somebody was sent away');
}, { refusesOn: 400 });

await story("the page can't be framed", async ({ page, ask }) => {
  site.put(`/frame-${ask.state}`, `<iframe id="f" src="${ask.url.replaceAll('&', '&amp;')}"></iframe>`);
  await page.goto(`${site.url}/frame-${ask.state}`);
  await page.waitForLoadState('networkidle');
  const frame = page.frames().find((one) => one !== page.mainFrame());
  expect(!frame || (await frame.locator('#key').count()) === 0, 'the page is in a frame');
}, { refusesOn: 'frame' });

await story('a form that another site sends does nothing', async ({ page, context, ask }) => {
  await page.goto(ask.url); // so that the browser has the cookie
  const fields = { ...Object.fromEntries(new URL(ask.url).searchParams), key: settings.key, answer: 'yes',
    form: await page.inputValue('[name=form]') };
  const inputs = Object.entries(fields).map(([name, value]) => `<input name="${name}" value="${value}">`).join('');
  site.put(`/attack-${ask.state}`, `<form id="f" method="post" action="${settings.url}/authorize">${inputs}</form>
    <script>document.getElementById('f').submit()</script>`);
  const victim = await context.newPage();
  await victim.goto(`${site.url}/attack-${ask.state}`);
  await victim.waitForSelector('[role=alert]');
  expect((await victim.textContent('[role=alert]')).startsWith('This form was not sent from this page'), 'the form was taken');
  expect(!site.wasVisited(ask.state), 'a code was sent');
}, { refusesOn: 403 });

for (const [name, options] of Object.entries({
  light: { colorScheme: 'light', viewport: { width: 1100, height: 900 } },
  dark: { colorScheme: 'dark', viewport: { width: 1100, height: 900 } },
  phone: { colorScheme: 'light', viewport: { width: 360, height: 740 }, deviceScaleFactor: 2, isMobile: true, hasTouch: true },
  'phone-dark': { colorScheme: 'dark', viewport: { width: 360, height: 740 }, deviceScaleFactor: 2, isMobile: true },
})) {
  await story(`it fits and is legible: ${name}`, async ({ ask }) => {
    const context = await browser.newContext(options);
    const page = await context.newPage();
    const errors = listen(page);
    await page.goto(ask.url);
    const [content, window] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
    expect(content <= window, `the page is ${content} wide in a window of ${window}`);
    for (const place of ['h1', '.host', 'button', 'p.small, p.warning', 'label']) {
      const ratio = await contrast(page, place);
      expect(ratio >= 4.5, `${place} has a contrast of ${ratio.toFixed(2)}`);
    }
    const target = await page.locator('button').first().boundingBox();
    expect(target.height >= 40, `the button is ${target.height} high`);
    await picture(page, name);
    equal(errors.join('; '), '', 'what the browser complains about');
    await context.close();
  });
}

await browser.close();
site.close();
process.exit(failed === 0 ? 0 : 1);

// --- running a story ----------------------------------------------------------------------------------------------

async function story(name, live, { refusesOn } = {}) {
  const context = await browser.newContext();
  try {
    const page = await context.newPage();
    page.setDefaultTimeout(WAIT_MS);
    const errors = listen(page);
    await live({ page, context, ask: await newRequest(settings) });
    // The browser's console also reports a refused answer as an error; anything else there is our error.
    const ours = errors.filter((text) => !/status of 4\d\d/.test(text) && !refusesOn);
    equal(ours.join('; '), '', 'what the browser complains about');
    console.log(`ok      browser: ${name}`);
  } catch (error) {
    failed += 1;
    console.log(`FAILED  browser: ${name}: ${String(error.message).split('\n').slice(0, 4).join(' ')}`);
  } finally {
    await context.close();
  }
}

function listen(page) {
  const errors = [];
  page.on('console', (message) => message.type() === 'error' && errors.push(message.text()));
  page.on('pageerror', (error) => errors.push(error.message));
  return errors;
}

function expect(condition, otherwise) {
  if (!condition) throw new Error(otherwise);
}

function equal(seen, expected, what) {
  expect(seen === expected, `${what} is ${JSON.stringify(seen)}, expected ${JSON.stringify(expected)}`);
}

async function submit(page, key) {
  await page.fill('#key', key);
  await page.click('button[value=yes]');
}

async function picture(page, name) {
  if (settings.pictures) await page.screenshot({ path: `${settings.pictures}/${name}.png`, fullPage: true });
}

/** How well a text stands out: the ratio that accessibility guidelines ask to be 4.5 at least. */
async function contrast(page, selector) {
  return page.locator(selector).first().evaluate((element) => {
    const channels = (color) => color.match(/[\d.]+/g).map(Number);
    const luminance = (color) => {
      const [r, g, b] = channels(color).map((c) => c / 255).map((c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
      return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    let ground = element;
    while (ground && channels(getComputedStyle(ground).backgroundColor)[3] === 0) ground = ground.parentElement;
    const [one, two] = [getComputedStyle(element).color, getComputedStyle(ground).backgroundColor].map(luminance);
    return (Math.max(one, two) + 0.05) / (Math.min(one, two) + 0.05);
  });
}

// --- the client ------------------------------------------------------------------------------------------------------

/** Registers a client, and makes the address that it sends its person to. */
async function newRequest(service) {
  const redirectUri = `${site.url}/callback`;
  const body = JSON.stringify({ client_name: 'Notes for the garden', redirect_uris: [redirectUri] });
  const answer = await fetch(`${service.url}/register`, { method: 'POST', body, headers: { 'content-type': 'application/json' } });
  const { client_id: clientId } = await answer.json();
  const [state, verifier] = [randomBytes(12).toString('hex'), randomBytes(32).toString('base64url')];
  const challenge = createHash('sha256').update(verifier).digest('base64url');
  const query = new URLSearchParams({ response_type: 'code', client_id: clientId, redirect_uri: redirectUri, state,
    code_challenge: challenge, code_challenge_method: 'S256', resource: `${service.url}/mcp` });
  return { url: `${service.url}/authorize?${query}`, clientId, redirectUri, state, verifier };
}

async function exchange(ask, code) {
  const body = new URLSearchParams({ grant_type: 'authorization_code', code, client_id: ask.clientId,
    redirect_uri: ask.redirectUri, code_verifier: ask.verifier });
  return (await (await fetch(`${settings.url}/token`, { method: 'POST', body })).json()).access_token;
}

async function mcp(token, method, params) {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
  return (await fetch(`${settings.url}/mcp`, { method: 'POST', body, headers: { authorization: `Bearer ${token}` } })).json();
}

/** The client's own site, under another name of this machine than the service's: another origin and another site. */
async function startSite() {
  const [pages, visits, waiting] = [new Map(), new Map(), new Map()];
  const server = createServer((request, response) => {
    const url = new URL(request.url, 'http://localhost');
    if (url.pathname === '/callback') {
      const [state, visit] = [url.searchParams.get('state'), { query: url.searchParams, headers: request.headers }];
      visits.set(state, visit);
      waiting.get(state)?.(visit);
    }
    response.setHeader('content-type', 'text/html');
    // Browsers request an icon on their own; there is none, and that is not an error.
    response.end(pages.get(url.pathname) ?? '<link rel="icon" href="data:,"><p>Back at the client.</p>');
  });
  await new Promise((listening) => server.listen(0, 'localhost', listening));
  return {
    url: `http://localhost:${server.address().port}`,
    put: (path, html) => pages.set(path, html),
    wasVisited: (state) => visits.has(state),
    visit: (state) => new Promise((arrived, missing) => {
      if (visits.has(state)) return arrived(visits.get(state));
      waiting.set(state, arrived);
      setTimeout(() => missing(new Error('the redirect did not arrive')), WAIT_MS);
    }),
    close: () => server.close(),
  };
}
