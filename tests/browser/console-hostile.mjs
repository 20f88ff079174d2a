// What people with bad intentions try: markup and control characters in every field, forms and frames of other sites, a stolen
// cookie, a link from elsewhere.

import { createServer } from 'node:http';
import { equal, expect, settings, story } from './driver.mjs';

export const TEXTS = [
  '<script>window.hit=1</script>', '<img src=x onerror="window.hit=1">', '"><svg onload="window.hit=1">', "'><b onclick='window.hit=1'>",
  '</title><script>window.hit=1</script>', '</textarea><script>window.hit=1</script>', '<iframe srcdoc="<script>parent.hit=1</script>">',
  'javascript:window.hit=1', '<a href="javascript:window.hit=1">go</a>', '<style>*{display:none}</style>', '<base href="https://evil.example/">',
  '<form action="https://evil.example"><input name="seal">', '<meta http-equiv="refresh" content="0;url=https://evil.example">',
  '{{7*7}}', '${7*7}', '<!--', ']]>', '&lt;script&gt;', '\u202Eevil\u202C', '\u2066abc\u2067def', 'a\u200Bb\u200Cc', '\u061C\u200F\u200E',
  '<svg><use href="#i-trash"/></svg>', '<math><mi xlink:href="javascript:window.hit=1">', '<details open ontoggle="window.hit=1">',
  '" autofocus onfocus="window.hit=1" x="', "' style='position:fixed;inset:0' x='", '<object data="x">', '<embed src="x">', '<video><source onerror="window.hit=1">',
  '<template><script>window.hit=1</script></template>', '<noscript><p title="</noscript><img src=x onerror=window.hit=1>">',
  '<input onfocus=window.hit=1 autofocus>', '<marquee onstart=window.hit=1>', '<link rel=stylesheet href=https://evil.example>', '%3Cscript%3Ewindow.hit=1%3C/script%3E',
  '＜script＞window.hit=1＜/script＞', '<scr\u0000ipt>', '\uFEFF<b>', '<b>\u2028</b>\u2029', '`${window.hit=1}`', '\\u003cscript\\u003e',
  '<details class="why"><summary>x</summary>', '</p></div></main><h1>Signed out</h1>', '<button popovertarget="nav">x</button>',
  '<p id="main">', '<time datetime="x">', 'a'.repeat(300), 'ﷺ'.repeat(20), 'Z̵̡̢̛̗̘̙̜'.repeat(20),
];

export async function hostile(browser, world, ids, signIn) {
  const { keys, remember, api, account, project } = world;
  await story(browser, 'console: 50 hostile texts stay texts, in every field that takes them', async ({ page }) => {
    equal(TEXTS.length, 50, 'the texts');
    let stored = 0;
    for (const [no, text] of TEXTS.entries()) {
      const plain = text.replace(/[\u0000-\u001f\u007f]/g, '');
      const args = { content: `${text} number ${no}`, fact_key: plain.slice(0, 80), source_id: plain.slice(0, 80), source: plain.slice(0, 80), source_revision: plain.slice(0, 40), workspace: 'hostile' };
      // The guard and the rules about texts may refuse some; what is stored has to be shown.
      stored += await remember(keys.admin, args).then(() => 1, () => remember(keys.admin, { content: `${text} number ${no}`, workspace: 'hostile' }).then(() => 1, () => 0));
      await api('POST', `/accounts/${account}/members`, { name: plain.slice(0, 60), role: 'member' }).catch(() => {});
      await api('POST', `/projects/${project}/keys`, { member_id: world.people.member, access: 'read', label: plain.slice(0, 60) }).catch(() => {});
    }
    expect(stored >= 30, `only ${stored} of the texts could be stored`);
    await signIn(page, keys.admin);
    const paths = ['/memory?workspace=hostile', '/memory?workspace=hostile&q=number', '/memory?workspace=hostile&q=%3Cscript%3Ewindow.hit%3D1%3C%2Fscript%3E', '/sources', '/sources?show=unchecked', '/sources?q=%22%3E%3Cscript%3Ewindow.hit%3D1%3C%2Fscript%3E', '/people', '/keys', '/audit', '/workspaces', '/connections', '/usage', '/guard'];
    for (const member of (await api('GET', `/accounts/${account}/members`)).members.slice(0, 25)) paths.push(`/people?remove=${member.id}`);
    for (const path of paths) {
      await page.goto(`${settings.url}/console${path}`);
      const seen = await page.evaluate(() => ({ hit: window.hit, scripts: document.scripts.length, frames: frames.length, base: document.querySelectorAll('base, object, embed, iframe, [onerror], [onload], [onfocus], [style]').length, headings: document.querySelectorAll('h1').length, width: document.documentElement.scrollWidth <= innerWidth }));
      equal(JSON.stringify(seen), JSON.stringify({ hit: undefined, scripts: 1, frames: 0, base: 0, headings: 1, width: true }), `what ran or leaked on ${path}`);
    }
    for (const record of await page.context().request.get(`${settings.url}/console/memory?workspace=hostile`).then((answer) => answer.text()).then((text) => [...text.matchAll(/\/console\/records\/([0-9a-f-]{36})" data-go/g)].map((found) => found[1]).slice(0, 25))) {
      await page.goto(`${settings.url}/console/records/${record}`);
      const [hit, headings] = await page.evaluate(() => [window.hit, document.querySelectorAll('h1').length]);
      expect(hit === undefined && headings === 1, `a text ran on the page of ${record}`);
    }
  });

  const site = await startSite();
  await story(browser, 'console: a form of another site does nothing, with or without its seal', async ({ page, context }) => {
    await signIn(page, keys.admin, `/records/${ids.rollback}`);
    const seal = await page.inputValue('#forget [name=seal]');
    for (const value of ['', seal]) {
      site.page = `<form id="f" method="post" action="${settings.url}/console/records/${ids.rollback}/forget"><input name="seal" value="${value}"></form><script>document.getElementById('f').submit()</script>`;
      const victim = await context.newPage();
      await victim.goto(site.url);
      await victim.waitForURL(/\/console\//);
      expect((await victim.textContent('h1')).includes('not ours'), 'the form was taken');
      await victim.close();
    }
    await page.reload();
    equal(await page.locator('.verdict.is-gone').count(), 0, 'the record was forgotten');
  });

  await story(browser, 'console: a form without its seal, or with one of another session, does nothing', async ({ page, context }) => {
    await signIn(page, keys.admin, `/records/${ids.rollback}`);
    const other = await browser.newContext();
    const theirs = await other.newPage();
    await signIn(theirs, keys.head, `/records/${ids.rollback}`);
    const foreign = await theirs.inputValue('#forget [name=seal]');
    await other.close();
    for (const form of [{}, { seal: 'none' }, { seal: foreign }]) {
      const answer = await context.request.post(`${settings.url}/console/records/${ids.rollback}/forget`, { form, headers: { 'sec-fetch-site': 'same-origin' }, maxRedirects: 0 });
      equal(answer.status(), 403, 'the status');
    }
  });

  await story(browser, "console: it can't be framed", async ({ page }) => {
    site.page = `<iframe src="${settings.url}/console/sign-in"></iframe>`;
    await page.goto(site.url);
    await page.waitForLoadState('networkidle');
    const frame = page.frames().find((one) => one !== page.mainFrame());
    expect(!frame || (await frame.locator('#key').count()) === 0, 'the page is in a frame');
  }, { refuses: true });

  await story(browser, 'console: a link from elsewhere arrives, and nobody is asked to sign in again', async ({ page }) => {
    await signIn(page, keys.admin);
    site.page = `<a id="go" href="${settings.url}/console/records/${ids.rollback}">go</a>`;
    await page.goto(site.url);
    await page.click('#go');
    await page.waitForSelector('.fact-text');
  });

  await story(browser, 'console: a stolen cookie ends with its key, and opens neither the tools nor the admin API', async ({ page, context }) => {
    const made = await api('POST', `/projects/${project}/keys`, { member_id: world.people.member, access: 'write', label: 'stolen' });
    await signIn(page, made.key);
    const cookie = (await context.cookies()).find((one) => one.name.endsWith('mnemon-console'));
    expect(cookie.httpOnly && cookie.sameSite === 'Strict', 'the cookie is open');
    const headers = { cookie: `${cookie.name}=${cookie.value}` };
    equal((await fetch(`${settings.url}/admin/v1/me`, { headers })).status, 401, 'the admin API by cookie');
    equal((await fetch(`${settings.url}/mcp`, { method: 'POST', headers: { ...headers, 'content-type': 'application/json' }, body: '{}' })).status, 401, 'the tools by cookie');
    equal((await fetch(`${settings.url}/console/memory`, { headers, redirect: 'manual' })).status, 200, 'the console by cookie');
    await api('DELETE', `/keys/${made.key_id}`);
    equal((await fetch(`${settings.url}/console/memory`, { headers, redirect: 'manual' })).status, 303, 'the console after the revocation');
  });
  site.close();
}

async function startSite() {
  const site = { page: '' };
  const server = createServer((_, answer) => { answer.setHeader('content-type', 'text/html'); answer.end(site.page); });
  await new Promise((ready) => server.listen(0, 'localhost', ready));
  // Another name of this machine is another site for the browser.
  site.url = `http://localhost:${server.address().port}/`;
  site.close = () => server.close();
  return site;
}
