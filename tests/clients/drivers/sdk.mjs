// Drives the npm package `@modelcontextprotocol/sdk` 1.x, which knows the protocol up to 2025-11-25. Arguments: URL, key.

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { serve } from './wire.mjs';

const [url, key] = process.argv.slice(2);

await serve(async () => {
  const client = new Client({ name: 'mnemon-stories', version: '1' });
  const headers = { Authorization: `Bearer ${key}` };
  const transport = new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } });
  await client.connect(transport);
  return { client, version: transport.protocolVersion };
});
