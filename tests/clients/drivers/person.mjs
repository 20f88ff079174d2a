// A person without a browser, and the client's memory: what the OAuth code of the npm packages asks for.

const HIDDEN = /<input type="hidden" name="([^"]*)" value="([^"]*)">/g;

/** Opens the page, pastes the key, and returns what the client gets back. */
export async function agree(authorizationUrl, key) {
  const page = await fetch(authorizationUrl);
  const cookie = page.headers.get('set-cookie').split(';')[0];
  const fields = [...(await page.text()).matchAll(HIDDEN)].map(([, name, value]) => [unescaped(name), unescaped(value)]);
  const body = new URLSearchParams([...fields, ['key', key], ['answer', 'yes']]);
  const answer = await fetch(new URL('/authorize', authorizationUrl), { method: 'POST', body, headers: { cookie }, redirect: 'manual' });
  if (answer.status !== 303) {
    const notice = /role="alert">([^<]*)</.exec(await answer.text());
    throw new Error(`the page did not lead back: ${answer.status} ${notice ? unescaped(notice[1]) : ''}`);
  }
  return new URL(answer.headers.get('location')).searchParams;
}

/** Keeps everything for as long as the driver lives, and sends the person to the page. */
export class Provider {
  constructor(key) {
    this.key = key;
    this.kept = {};
  }
  get redirectUrl() { return 'http://localhost:3030/callback'; }
  get clientMetadata() { return { client_name: 'mnemon-stories', redirect_uris: [this.redirectUrl] }; }
  state() { return (this.kept.state ??= crypto.randomUUID()); }
  clientInformation() { return this.kept.client; }
  saveClientInformation(client) { this.kept.client = client; }
  tokens() { return this.kept.tokens; }
  saveTokens(tokens) { this.kept.tokens = tokens; }
  codeVerifier() { return this.kept.verifier; }
  saveCodeVerifier(verifier) { this.kept.verifier = verifier; }
  async redirectToAuthorization(url) { this.back = await agree(url, this.key); }
}

function unescaped(text) {
  return text.replace(/&#(\d+);/g, (_, code) => String.fromCodePoint(Number(code)));
}
