// Drives the npm package `@modelcontextprotocol/client` 2.x.
// Arguments: URL, key, mode (`auto`, `legacy` or a protocol version to pin).

import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { serve } from './wire.mjs';

const [url, key, mode] = process.argv.slice(2);

await serve(async () => {
  const negotiation = mode === 'auto' || mode === 'legacy' ? mode : { pin: mode };
  const client = new Client({ name: 'mnemon-stories', version: '1' }, { versionNegotiation: { mode: negotiation } });
  const headers = { Authorization: `Bearer ${key}` };
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }));
  return { client, version: client.getNegotiatedProtocolVersion() };
});
