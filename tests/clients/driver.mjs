// Stands between a test and the server as a real client does: what the test sends on stdin, in the shape
// of MCP's requests, is done with the client of a package that was fetched (scripts/setup-clients.sh),
// and what that client makes of the answer goes back on stdout.
//
//   node driver.mjs PACKAGE MODE PROGRAM [ARGUMENT …]
//
// MODE is how version 2 agrees on a protocol (legacy or auto); version 1 has no choice. Beside MCP's own
// parameters a request may carry "client": {timeout, keepAlive, progress}, the options of the call. With
// SW_TEST_ANSWER a person is at the client who gives that answer to every question (elicitation).
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';

const [name, mode, command, ...args] = process.argv.slice(2);
const require = createRequire(`${process.env.SW_TEST_CLIENTS}/package.json`);
const isV2 = name === '@modelcontextprotocol/client';
const { Client } = require(isV2 ? name : `${name}/client/index.js`);
const { StdioClientTransport } = require(`${name}/${isV2 ? 'stdio' : 'client/stdio.js'}`);

const say = (message) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\n');

const person = process.env.SW_TEST_ANSWER;
const peer = new Client({ name: 'tests', version: '1' }, { capabilities: person ? { elicitation: {} } : {}, ...(isV2 && { versionNegotiation: { mode } }) });
peer.onerror = (error) => say({ method: 'client/error', params: { message: String(error) } });
if (person) {
  const asked = isV2 ? 'elicitation/create' : require(`${name}/types.js`).ElicitRequestSchema;
  peer.setRequestHandler(asked, (request) => {
    say({ method: 'client/asked', params: request.params });
    return JSON.parse(person);
  });
}
const transport = new StdioClientTransport({ command, args, env: process.env, stderr: 'inherit' });

// Which version was agreed on: the answer to initialize, which version 1 keeps to itself.
let agreed;
const send = transport.send.bind(transport);
transport.send = (message, ...rest) => {
  if (message.method === 'initialize') {
    const handle = transport.onmessage;
    transport.onmessage = (m, ...more) => {
      agreed ??= m.result?.protocolVersion;
      return handle.call(transport, m, ...more);
    };
  }
  return send(message, ...rest);
};

const running = new Map();

const does = {
  'client/info': () => ({
    protocolVersion: agreed ?? peer.getNegotiatedProtocolVersion?.(), capabilities: peer.getServerCapabilities(),
    instructions: peer.getInstructions?.() ?? null,
  }),
  ping: (_, o) => peer.ping(o),
  'tools/list': (p, o) => peer.listTools(p, o),
  'tools/call': (p, o) => (isV2 ? peer.callTool(p, o) : peer.callTool(p, undefined, o)),
  'resources/list': (p, o) => peer.listResources(p, o),
  'resources/templates/list': (p, o) => peer.listResourceTemplates(p, o),
  'resources/read': (p, o) => peer.readResource(p, o),
  'prompts/list': (p, o) => peer.listPrompts(p, o),
  'prompts/get': (p, o) => peer.getPrompt(p, o),
  'completion/complete': (p, o) => peer.complete(p, o),
};

async function answer({ id, method, params }) {
  const { client, ...rest } = params ?? {};
  const how = client ?? {};
  const abort = new AbortController();
  const options = { signal: abort.signal, timeout: how.timeout ?? 60_000, resetTimeoutOnProgress: how.keepAlive };
  if (how.progress) options.onprogress = (p) => say({ method: 'notifications/progress', params: { ...p, of: id } });
  running.set(id, abort);
  try {
    say({ id, result: await does[method](rest, options) });
  } catch (error) {
    say({ id, error: { code: typeof error.code === 'number' ? error.code : -1, message: `${error.code ?? ''} ${error.message}`, data: error.data } });
  }
  running.delete(id);
}

await peer.connect(transport);
const lines = createInterface({ input: process.stdin });
lines.on('line', (line) => {
  const message = JSON.parse(line);
  if (message.method === 'notifications/cancelled') running.get(message.params.requestId)?.abort('test');
  else answer(message);
});
lines.on('close', async () => {
  peer.onerror = undefined; // what is in flight ends here
  await peer.close();
  process.exit(0);
});
