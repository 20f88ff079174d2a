// Drives the OAuth code of the npm package `@modelcontextprotocol/sdk` 1.x, from the first 401 on. Arguments: URL, key.

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { UnauthorizedError } from '@modelcontextprotocol/sdk/client/auth.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { Provider } from './person.mjs';
import { serve } from './wire.mjs';

const [url, key] = process.argv.slice(2);

await serve(async () => {
  const authProvider = new Provider(key);
  const connect = async () => {
    const client = new Client({ name: 'mnemon-stories', version: '1' });
    const transport = new StreamableHTTPClientTransport(new URL(url), { authProvider });
    try {
      await client.connect(transport);
    } catch (error) {
      if (!(error instanceof UnauthorizedError)) throw error;
      await transport.finishAuth(authProvider.back.get('code'));
      return null;
    }
    return { client, version: transport.protocolVersion };
  };
  return (await connect()) ?? (await connect());
});
