// What the stories of both pages share: a browser, a story that passes or fails, and what is expected of it.

import { chromium } from 'playwright-core';

const FLAGS = ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
  '--disable-background-networking', '--disable-component-update', '--disable-sync'];
const WAIT_MS = 15_000;

export const settings = JSON.parse(process.argv[2]);
export const launch = () => chromium.launch({ executablePath: settings.chromium, args: FLAGS });
export let failed = 0;

/** Runs one story in a browser context of its own, and prints one line about it. */
export async function story(browser, name, live, { refuses, ...options } = {}) {
  const context = await browser.newContext(options);
  try {
    const page = await context.newPage();
    page.setDefaultTimeout(WAIT_MS);
    const errors = listen(page);
    await live({ page, context });
    // The browser's console also reports a refused answer as an error; anything else there is our error, unless the story is
    // about something that the browser has to refuse.
    if (!refuses) equal(errors.filter((text) => !/status of [45]\d\d/.test(text)).join('; '), '', 'what the browser complains about');
    console.log(`ok      browser: ${name}`);
  } catch (error) {
    failed += 1;
    console.log(`FAILED  browser: ${name}: ${String(error.stack).split('\n').slice(0, 5).join(' ')}`);
  } finally {
    await context.close();
  }
}

/** Does all of it, two things at a time: a browser uses a core for each. */
export async function together(tasks) {
  const rest = [...tasks];
  const work = async () => { while (rest.length) await rest.shift()(); };
  await Promise.all([work(), work()]);
}

/** Counts what a task costs a person: clicks, and pages that are loaded. */
export function stopwatch(page) {
  const seen = { clicks: 0, loads: 0 };
  page.on('load', () => { seen.loads += 1; });
  return {
    click: async (what) => { seen.clicks += 1; await page.click(what); },
    tell: async (task, clicksMax) => {
      await page.waitForLoadState();
      console.log(`        ${task}: clicks ${seen.clicks}, page loads ${seen.loads}`);
      expect(seen.clicks <= clicksMax, `${task} took ${seen.clicks} clicks`);
    },
  };
}

export function listen(page) {
  const errors = [];
  page.on('console', (message) => message.type() === 'error' && errors.push(message.text()));
  page.on('pageerror', (error) => errors.push(error.message));
  return errors;
}

export function expect(condition, otherwise) {
  if (!condition) throw new Error(otherwise);
}

export function equal(seen, expected, what) {
  expect(seen === expected, `${what} is ${JSON.stringify(seen)}, expected ${JSON.stringify(expected)}`);
}

/** Kept where somebody wants to look at them: without a folder there are none. */
export async function picture(page, name) {
  if (settings.pictures) await page.screenshot({ path: `${settings.pictures}/${name}.png`, fullPage: true });
}
