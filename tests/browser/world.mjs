// A small company on a fresh service: people, keys and records for the stories of the console. All of it is made through the
// doors that everybody has: the admin API and the tools.

export async function build(settings) {
  const admin = settings.key;
  const api = (method, path, body, key = admin) => call(settings.url, `/admin/v1${path}`, method, body, key);
  const me = await api('GET', '/me');
  const [account, project] = [me.account.id, me.project.id];
  const department = (name, parent) => api('POST', `/accounts/${account}/departments`, { name, parent_id: parent });
  const member = (name, role, of) => api('POST', `/accounts/${account}/members`, { name, role, department_id: of });
  const keyFor = async (id, label, access = 'write') =>
    api('POST', `/projects/${project}/keys`, { member_id: id, access, label });
  const engineering = idOf(await department('Engineering'));
  const platform = idOf(await department('Platform', engineering));
  const people = {
    admin: me.member.id,
    head: idOf(await member('Ben Okafor', 'head', platform)),
    member: idOf(await member('Chiara Conti', 'member', platform)),
    leaver: idOf(await member('Dmitri Volkov', 'member', platform)),
    robot: idOf(await member('ci-runner', 'member', platform)),
  };
  const keys = {
    admin,
    head: (await keyFor(people.head, 'Ben’s laptop')).key,
    member: (await keyFor(people.member, 'Cursor on Chiara’s Mac')).key,
    leaver: (await keyFor(people.leaver, 'Load test')).key,
    robot: (await keyFor(people.robot, 'ci-runner')).key,
    read: (await keyFor(people.member, 'claude.ai', 'read')).key,
    operator: settings.operator,
  };
  const tool = (key, name, args) => mcp(settings.url, key, 'tools/call', { name, arguments: args });
  const remember = async (key, args) => (await tool(key, 'remember', args)).result.structuredContent;
  return { url: settings.url, account, project, people, keys, api, tool, remember, departments: { engineering, platform } };
}

/** Records of every status. */
export async function fill(world) {
  const { keys, remember, tool } = world;
  const ids = {};
  const save = async (name, key, args) => { ids[name] = (await remember(key, args)).id; };
  await save('tuesday', keys.admin, { content: 'We deploy on Tuesdays and Thursdays at 10:00 UTC. Nobody deploys on Fridays.',
    fact_key: 'deploy.day', source_id: 'docs/deploy.md', source_hash: '9f2c41d07be1', source_revision: '4c1f09e', confidence: 0.9 });
  await save('wednesday', keys.member, { content: 'Deploys go out every Wednesday after the 9:30 stand-up.',
    fact_key: 'deploy.day', source: 'a chat about releases', confidence: 0.6 });
  await save('rollback', keys.head, { content: 'To roll back a deploy run just rollback <version>. It takes about 90 s. Database migrations are never rolled back; write a forward fix.',
    fact_key: 'deploy.rollback', source_id: 'runbooks/rollback.md', source_hash: 'b80ad11c2f', source_revision: 'b80ad11' });
  await save('canary', keys.leaver, { content: 'A deploy first goes to the canary pool, 5 % of traffic for 15 minutes; the error budget decides whether it goes on.',
    fact_key: 'deploy.canary', source_id: 'infra/rollout.yaml', source_hash: '77d2e0a4b913', source_revision: '77d2e0a' });
  await save('canary2', keys.head, { content: 'The canary pool has two machines.', fact_key: 'deploy.pool', source_id: 'infra/rollout.yaml', source_hash: 'c05f9a1e77d0' });
  await save('freeze', keys.head, { content: 'Deploy freeze for the peak season: 23 November to 2 January. Hotfixes need a go of the head.',
    fact_key: 'deploy.freeze', source_id: 'confluence/REL-114' });
  await save('token', keys.robot, { content: 'CI deploys with a short-lived token from the OIDC broker; there is no long-lived deploy key any more.',
    fact_key: 'ci.deploy_token', scope: 'department', source_id: '.github/workflows/release.yml', source_hash: 'b80ad11aa0' });
  await save('draft', keys.leaver, { content: 'My own note: the load generator needs more memory.', scope: 'draft' });
  await save('long', keys.admin, { content: `Decision: phone numbers of drivers are kept for 30 days after the last trip. ${'The export for the tax office keeps them longer. '.repeat(30)}`,
    fact_key: 'privacy.driver_phone' });
  await save('retry', keys.head, { content: 'Calls to carriers are retried 3 times with exponential backoff from 250 ms to 4 s.',
    fact_key: 'carrier.retry', workspace: 'api', source_id: 'crates/carrier/src/retry.rs', source_hash: 'aa11bb22' });
  await save('spare', keys.admin, { content: 'The spare printer stands in the hall.', fact_key: 'office.printer' });
  await save('spare2', keys.admin, { content: 'The coffee machine is cleaned on Mondays.', fact_key: 'office.coffee' });
  await tool(keys.robot, 'validate_memory', { source_id: 'runbooks/rollback.md', current_source_hash: 'b80ad11c2f' });
  await tool(keys.robot, 'validate_memory', { source_id: 'crates/carrier/src/retry.rs', current_source_hash: 'aa11bb22' });
  return ids;
}

export async function mcp(url, key, method, params) {
  return call(url, '/mcp', 'POST', { jsonrpc: '2.0', id: 1, method, params }, key);
}

export async function call(url, path, method, body, key) {
  const answer = await fetch(`${url}${path}`, {
    method,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
  return JSON.parse(text);
}

const idOf = (made) => made.id ?? made.department_id ?? made.member_id;
