// Drives the npm package `@modelcontextprotocol/client` 2.x, with the local agent as its stdio server.
// Arguments: program, key, mode (`auto`, `legacy` or a protocol version to pin). The service's address is in MNEMON_URL.

import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { serve } from './wire.mjs';

const [program, key, mode] = process.argv.slice(2);

await serve(async () => {
  const negotiation = mode === 'auto' || mode === 'legacy' ? mode : { pin: mode };
  const client = new Client({ name: 'mnemon-stories', version: '1' }, { versionNegotiation: { mode: negotiation } });
  const env = { HOME: process.env.HOME, MNEMON_URL: process.env.MNEMON_URL, MNEMON_API_KEY: key };
  await client.connect(new StdioClientTransport({ command: program, args: ['agent'], env }));
  return { client, version: client.getNegotiatedProtocolVersion() };
});
