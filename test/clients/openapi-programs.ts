/** TABLE clients that generators make of the OpenAPI document, and a program of each that does the main job by them and by nothing else. */

/** `client`: of scripts/clients.ts, in whose folder the program is. `by`: the client whose `bin` generates. `words`: `{document}` is its path. */
type Generated = { client: string; by: string; bin: string; words: string[]; config?: string; program: string }

/** What each program does at the end: it says what it saw, as the test expects it. */
const SAY = `
console.log(JSON.stringify({ name: project.name, keys: envs.map(({ key }) => key), domains, names, refused }))
`
const SETUP = `const [baseUrl, token] = process.argv.slice(2) as [string, string]
`

export const GENERATED: readonly Generated[] = [
  {
    client: 'openapi-fetch',
    by: 'openapi-typescript',
    bin: 'openapi-typescript',
    words: ['{document}', '--output', 'schema.ts'],
    program: `import createClient from 'openapi-fetch'
import type { paths } from './schema.ts'
${SETUP}
const berth = createClient<paths>({ baseUrl, headers: { authorization: \`Bearer \${token}\` } })
function must<T>({ data, error }: { data?: T; error?: unknown }): T {
  if (data === undefined) throw new Error(JSON.stringify(error))
  return data
}
const project = must(await berth.POST('/v10/projects', { body: { name: 'generated' } }))
const path = { idOrName: project.id }
const env = { key: 'API_URL', value: 'https://api.example.com', type: 'plain' as const, target: ['preview' as const] }
must(await berth.POST('/v10/projects/{idOrName}/env', { params: { path }, body: env }))
must(await berth.POST('/v10/projects/{idOrName}/domains', { params: { path }, body: { name: 'www.example.com' } }))
const { envs } = must(await berth.GET('/v9/projects/{idOrName}/env', { params: { path } }))
const listed = must(await berth.GET('/v9/projects/{idOrName}/domains', { params: { path, query: { limit: 10 } } }))
const domains = listed.domains.map(({ name, verified }) => [name, verified])
const names = must(await berth.GET('/v9/projects', { params: { query: { limit: 10 } } })).projects.map(({ name }) => name)
const missing = await berth.GET('/v9/projects/{idOrName}', { params: { path: { idOrName: 'none' } } })
const refused = [missing.response.status, missing.error?.error.code]
${SAY}`,
  },
  {
    client: 'openapi-hey',
    by: 'openapi-hey',
    bin: 'openapi-ts',
    words: ['--file', 'config.mjs', '--silent'],
    config: `export default {
  input: '{document}',
  output: { path: 'client', module: { extension: '.ts' } },
  plugins: ['@hey-api/client-fetch', '@hey-api/sdk', '@hey-api/typescript'],
}
`,
    program: `import { client } from './client/client.gen.ts'
import * as berth from './client/sdk.gen.ts'
${SETUP}
client.setConfig({ baseUrl, auth: token })
const throwOnError = true as const
const { data: project } = await berth.createProject({ throwOnError, body: { name: 'generated' } })
const path = { idOrName: project.id }
const env = { key: 'API_URL', value: 'https://api.example.com', type: 'plain' as const, target: ['preview' as const] }
await berth.createProjectEnv({ throwOnError, path, body: env })
await berth.addProjectDomain({ throwOnError, path, body: { name: 'www.example.com' } })
const { envs } = (await berth.filterProjectEnvs({ throwOnError, path })).data
const listed = (await berth.getProjectDomains({ throwOnError, path, query: { limit: 10 } })).data
const domains = listed.domains.map(({ name, verified }) => [name, verified])
const names = (await berth.getProjects({ throwOnError, query: { limit: 10 } })).data.projects.map(({ name }) => name)
const missing = await berth.getProject({ path: { idOrName: 'none' } })
const refused = [missing.response?.status, missing.error?.error.code]
${SAY}`,
  },
]
