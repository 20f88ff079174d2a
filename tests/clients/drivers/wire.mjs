// The line protocol between the stories and a Node client: one JSON request per line in, one JSON answer per line out.
// Nothing is judged here. A driver only says what its client saw, so that every client is held to the same stories.

import { createInterface } from 'node:readline';

/** Connects with `connect`, then answers requests until the stories close our standard input. */
export async function serve(connect) {
  try {
    const { client, version } = await connect();
    say({ connected: version });
    for await (const line of createInterface({ input: process.stdin })) {
      say(await answer(client, JSON.parse(line)));
    }
    await client.close();
  } catch (error) {
    say({ failure: describe(error) });
  }
}

async function answer(client, request) {
  try {
    if (request.op === 'list') return await client.listTools();
    return { result: await client.callTool({ name: request.name, arguments: request.arguments }) };
  } catch (error) {
    // Protocol errors carry the server's number; everything else is a client that gave up, and the stories tell them apart.
    return Number.isInteger(error.code) ? { error: { code: error.code, message: error.message } } : { failure: describe(error) };
  }
}

function say(message) {
  process.stdout.write(JSON.stringify(message) + '\n');
}

function describe(error) {
  const cause = error.cause ? ` (${describe(error.cause)})` : '';
  return `${error.name}: ${error.message}${cause}`;
}
