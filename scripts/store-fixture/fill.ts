/** What a store of a fixture holds: made through the API, as users and integrations make it, and then read through it. */

/** A response of the version that wrote the database. Every later version must return the same. */
export type KeptAnswer = { token: string; path: string; body: unknown }
type Credentials = { operatorToken: string; userId: string; teamId: string; token: string }
// biome-ignore lint/suspicious/noExplicitAny: answers of versions whose types are not here
type Call = (method: string, path: string, body?: object) => Promise<any>

/** Settings that affect responses: set the same ones to open the database. */
export const FIXED = { BERTH_PLATFORM_SUFFIX: 'berth.test', BERTH_PUBLIC_URL: 'https://control.example.net' }

const VARIABLES = [
  { key: 'PLAIN', value: 'in clear', type: 'plain', target: ['production', 'preview', 'development'] },
  { key: 'SEALED', value: 'a secret of preview', type: 'encrypted', target: ['preview'], comment: 'kept since' },
  { key: 'SEALED', value: 'a secret of a branch', type: 'encrypted', target: ['preview'], gitBranch: 'next' },
  { key: 'SEALED', value: 'lines\nand "quotes" – ü', type: 'encrypted', target: ['production'] },
  { key: 'HIDDEN', value: 'nobody reads this', type: 'sensitive', target: ['production'] },
]
const SETTINGS = {
  framework: 'nextjs',
  buildCommand: 'npm run build',
  outputDirectory: 'dist',
  nodeVersion: '20.x',
  autoExposeSystemEnvs: true,
  passwordProtection: { deploymentType: 'all', password: 'open sesame' },
  trustedIps: { deploymentType: 'all', addresses: [{ value: '10.0.0.0/8' }], protectionMode: 'additional' },
}
const DOMAINS = [
  { name: 'www.shop-example.com' },
  { name: 'shop-example.com', redirect: 'www.shop-example.com', redirectStatusCode: 308 },
  { name: 'next.shop-example.com', gitBranch: 'next' },
  { name: 'shop.berth.test' },
]
const WEBHOOK = { url: 'https://hooks.example.com/in', events: ['project.created', 'project.removed'] }
const DRAIN = { url: 'https://logs.example.com/in', sources: ['edge'], deliveryFormat: 'json', name: 'logs' }
const APP = { slug: 'monitor', name: 'Monitor', redirectUrl: 'https://monitor.example.com/callback' }

/** Fills the service at `address`, and gives what it answers about all of it. Throws where it refuses. */
export async function fill(address: string, credentials: Credentials): Promise<KeptAnswer[]> {
  const { token, operatorToken, teamId, userId } = credentials
  const team = `teamId=${teamId}`
  const call = callerWith(address, token)
  const operator = callerWith(address, operatorToken)
  for (const id of [teamId, userId]) await operator('PATCH', `/operator/v1/accounts/${id}`, { plan: 'enterprise' })
  const { id: shop } = await call('POST', `/v10/projects?${team}`, { name: 'shop' })
  await call('PATCH', `/v9/projects/shop?${team}`, SETTINGS)
  await call('POST', `/v10/projects?${team}`, { name: 'docs', framework: 'astro' })
  const { id: paused } = await call('POST', `/v10/projects?${team}`, { name: 'paused' })
  await call('POST', `/v1/projects/${paused}/pause?${team}`)
  await call('POST', '/v10/projects', { name: 'personal' })
  const staging = { slug: 'staging', description: 'before production' }
  const { id: environment } = await call('POST', `/v9/projects/shop/custom-environments?${team}`, staging)
  const ofStaging = { key: 'STAGED', value: 'of staging', type: 'encrypted', customEnvironmentIds: [environment] }
  for (const one of [...VARIABLES, ofStaging]) await call('POST', `/v10/projects/shop/env?${team}`, one)
  for (const one of DOMAINS) await call('POST', `/v10/projects/shop/domains?${team}`, one)
  await call('PATCH', `/v1/projects/shop/protection-bypass?${team}`, { generate: {} })
  const deployments = await deploy(call, operator, shop, team)
  await call('POST', `/v1/webhooks?${team}`, WEBHOOK)
  await call('POST', `/v1/log-drains?${team}`, { ...DRAIN, secret: 'drain secret 0123456789' })
  const app = await operator('POST', '/operator/v1/integrations', { ...APP, teamId, scopes: ['read:project'] })
  const installed = { userId, teamId, projects: 'all' }
  await operator('POST', `/operator/v1/integrations/${app.id}/installations`, installed)
  const ada = await operator('POST', '/operator/v1/users', { email: 'ada@example.com', username: 'ada', name: 'Ada' })
  await operator('PUT', `/operator/v1/teams/${teamId}/members/${ada.id}`, { role: 'DEVELOPER' })
  const made = await operator('POST', '/operator/v1/tokens', { userId: ada.id, name: 'of Ada' })
  await operator('POST', '/operator/v1/timers/audit-chain/run', {})
  const readers = { [token]: await pathsOfTeam(call, team, deployments), [made.token]: [`/v9/projects/docs?${team}`] }
  const paths = {
    ...readers,
    [operatorToken]: ['/operator/v1/integrations', '/operator/v1/audit?limit=100&type=createProject'],
  }
  return readAll(address, paths)
}

/** Creates three deployments, promotes the second, and returns their ids. */
async function deploy(call: Call, operator: Call, project: string, team: string): Promise<string[]> {
  const ids: string[] = []
  for (const at of [1, 2, 3]) {
    const target = at === 3 ? undefined : 'production'
    const body = { url: `shop-${at}.deployments.example.com`, target, readyState: 'READY', meta: { commit: `c${at}` } }
    ids.push((await operator('POST', `/operator/v1/projects/${project}/deployments`, body)).id)
  }
  await call('POST', `/v10/projects/${project}/promote/${ids[0]}?${team}`)
  return ids
}

/** Every readable part of the team, and each variable value. */
async function pathsOfTeam(call: Call, team: string, deployments: string[]): Promise<string[]> {
  const { envs } = await call('GET', `/v9/projects/shop/env?${team}`)
  const { id } = await call('GET', `/v9/projects/shop?${team}`)
  return [
    ...['shop', 'docs', 'paused'].map((name) => `/v9/projects/${name}?${team}`),
    `/v9/projects?limit=100&${team}`,
    '/v9/projects/personal',
    `/v9/projects/shop/env?decrypt=true&${team}`,
    ...envs.map((one: { id: string }) => `/v1/projects/shop/env/${one.id}?${team}`),
    `/v9/projects/shop/custom-environments?${team}`,
    `/v9/projects/shop/domains?limit=100&${team}`,
    ...DOMAINS.map(({ name }) => `/v9/projects/shop/domains/${name}?${team}`),
    `/v5/domains?${team}`,
    ...deployments.map((one) => `/v13/deployments/${one}?${team}`),
    `/v6/deployments?projectId=${id}&${team}`,
    `/v1/projects/${id}/promote/aliases?${team}`,
    `/v1/webhooks?${team}`,
    `/v1/log-drains?${team}`,
    `/v1/integrations/configurations?view=account&${team}`,
    '/v2/user',
    '/v2/teams',
    `/v2/teams/${team.split('=')[1]}`,
    `/v2/teams/${team.split('=')[1]}/members`,
    '/v5/user/tokens',
  ]
}

async function readAll(address: string, paths: Record<string, string[]>): Promise<KeptAnswer[]> {
  const answers: KeptAnswer[] = []
  for (const [token, asked] of Object.entries(paths)) {
    const call = callerWith(address, token)
    for (const path of asked) answers.push({ token, path, body: await call('GET', path) })
  }
  return answers
}

function callerWith(address: string, token: string): Call {
  return async (method, path, body) => {
    const headers = { authorization: `Bearer ${token}`, ...(body && { 'content-type': 'application/json' }) }
    const answer = await fetch(`${address}${path}`, { method, headers, body: body ? JSON.stringify(body) : null })
    const text = await answer.text()
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`)
    return text === '' ? undefined : JSON.parse(text)
  }
}
