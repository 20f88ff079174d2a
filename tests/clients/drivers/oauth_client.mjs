// Drives the OAuth code of the npm package `@modelcontextprotocol/client` 2.x, from the first 401 on.
// Arguments: URL, key, mode.

import { Client, StreamableHTTPClientTransport, UnauthorizedError } from '@modelcontextprotocol/client';
import { Provider } from './person.mjs';
import { serve } from './wire.mjs';

const [url, key, mode] = process.argv.slice(2);

await serve(async () => {
  const authProvider = new Provider(key);
  const connect = async () => {
    const client = new Client({ name: 'mnemon-stories', version: '1' }, { versionNegotiation: { mode } });
    const transport = new StreamableHTTPClientTransport(new URL(url), { authProvider });
    try {
      await client.connect(transport);
    } catch (error) {
      if (!(error instanceof UnauthorizedError)) throw error;
      await transport.finishAuth(authProvider.back);
      return null;
    }
    return client;
  };
  const client = (await connect()) ?? (await connect());
  return { client, version: client.getNegotiatedProtocolVersion() };
});
