/** Example data, made through the API as users make it: what `npm run dev` and `npm run seed` put into a service. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

/** Where `npm run dev` keeps its store. */
export const DEV_FOLDER = join(import.meta.dirname, '..', '..', '.cache', 'dev')
/** A first start on a slow machine, with its migrations. */
const MAX_START_MS = 60_000

type Credentials = { operatorToken: string; userId: string; teamId: string; token: string }
type Call = (method: string, path: string, body?: object) => Promise<{ id: string }>

const PROJECTS = [
  { name: 'shop', framework: 'nextjs', buildCommand: 'npm run build' },
  { name: 'docs', framework: 'astro', outputDirectory: 'dist' },
  { name: 'api', nodeVersion: '22.x' },
]
const DOMAINS: Record<string, object[]> = {
  shop: [
    { name: 'shop.example.com' },
    { name: 'www.shop.example.com', redirect: 'shop.example.com', redirectStatusCode: 308 },
    { name: 'next.shop.example.com', gitBranch: 'next' },
  ],
  docs: [{ name: 'docs.example.com' }],
}
const VARIABLES: Record<string, object[]> = {
  shop: [
    { key: 'API_URL', value: 'https://api.example.com', type: 'plain', target: ['production', 'preview'] },
    { key: 'API_URL', value: 'http://localhost:8080', type: 'plain', target: ['development'] },
    { key: 'DATABASE_URL', value: 'postgres://shop:example@db.example.com/shop', target: ['production'] },
    { key: 'PAYMENT_KEY', value: 'example-and-no-key', type: 'sensitive', target: ['production'] },
  ],
  api: [{ key: 'LOG_LEVEL', value: 'debug', type: 'plain', target: ['preview'], gitBranch: 'next' }],
}
const DEPLOYMENTS = [
  { url: 'shop-1.deployments.example.com', target: 'production', readyState: 'READY' },
  { url: 'shop-2.deployments.example.com', target: 'production', readyState: 'READY' },
  { url: 'shop-3.deployments.example.com', readyState: 'ERROR' },
]
const INTEGRATION = {
  slug: 'example-monitor',
  name: 'Example Monitor',
  redirectUrl: 'https://monitor.example.com/callback',
  scopes: ['read:project', 'read-write:log-drain'],
}

/** Where a service listens that was started with these settings. */
export function addressOf(env: Record<string, string | undefined>): string {
  return env.BERTH_PUBLIC_URL ?? `http://${env.HOST ?? '127.0.0.1'}:${env.PORT ?? '3000'}`
}

/**
 * Waits until the service at `address` is ready, and makes the examples for its first team. `folder`: where its
 * `credentials.json` is. Gives a sentence that says what there is now; where the project `shop` exists, nothing is made.
 */
export async function seed({ folder, address }: { folder: string; address: string }): Promise<string> {
  await untilReady(address)
  const credentials = readCredentials(folder)
  const call = callerWith(address, credentials.token)
  const operator = callerWith(address, credentials.operatorToken)
  const team = `teamId=${credentials.teamId}`
  const shop = await fetch(`${address}/v9/projects/shop?${team}`, headersOf(credentials.token))
  if (shop.ok) return `the example data is in ${address} already`
  const ids: Record<string, string> = {}
  for (const project of PROJECTS) {
    const { id } = await call('POST', `/v10/projects?${team}`, project)
    ids[project.name] = id
    for (const domain of DOMAINS[project.name] ?? []) await call('POST', `/v10/projects/${id}/domains?${team}`, domain)
    for (const one of VARIABLES[project.name] ?? []) await call('POST', `/v10/projects/${id}/env?${team}`, one)
  }
  for (const one of DEPLOYMENTS) await operator('POST', `/operator/v1/projects/${ids.shop}/deployments`, one)
  const app = await operator('POST', '/operator/v1/integrations', { ...INTEGRATION, teamId: credentials.teamId })
  const consent = { userId: credentials.userId, teamId: credentials.teamId, projects: 'all' }
  await operator('POST', `/operator/v1/integrations/${app.id}/installations`, consent)
  return `the projects ${PROJECTS.map(({ name }) => name).join(', ')} and the integration ${INTEGRATION.slug} are in ${address} (team ${credentials.teamId}, token in ${folder}/credentials.json)`
}

async function untilReady(address: string): Promise<void> {
  const until = Date.now() + MAX_START_MS
  while (!(await fetch(`${address}/readyz`).catch(() => undefined))?.ok) {
    if (Date.now() > until) throw new Error(`no service is ready at ${address}: start one with npm run dev`)
    await sleep(200)
  }
}

function readCredentials(folder: string): Credentials {
  const file = join(folder, 'credentials.json')
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch (error) {
    throw new Error(`cannot read ${file}: set BERTH_DATA to the folder of the service`, { cause: error })
  }
}

function headersOf(token: string): { headers: Record<string, string> } {
  return { headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' } }
}

function callerWith(address: string, token: string): Call {
  return async (method, path, body) => {
    const answer = await fetch(`${address}${path}`, { method, ...headersOf(token), body: JSON.stringify(body) })
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`)
    return (await answer.json()) as { id: string }
  }
}
