// Drives `mcp-remote`, the bridge that desktop assistants without HTTP start as a local command. The client in front of it is
// `@modelcontextprotocol/sdk` over stdio. Arguments: URL, key.

import { createRequire } from 'node:module';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { serve } from './wire.mjs';

const [url, key] = process.argv.slice(2);

await serve(async () => {
  const client = new Client({ name: 'mnemon-stories', version: '1' });
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [bridge(), url, '--header', `Authorization: Bearer ${key}`],
    env: process.env,
    stderr: 'ignore',
  });
  await client.connect(transport);
  // The stdio transport does not keep the version it agreed on, so there is none to report.
  return { client, version: null };
});

function bridge() {
  const require = createRequire(import.meta.url);
  const manifest = require.resolve('mcp-remote/package.json');
  return manifest.replace(/package\.json$/, require(manifest).bin['mcp-remote']);
}
