/** What tenants wrote is text on every page, whatever it is: from the table of screens, so a new page is covered. docs/threats.md. */
import assert from 'node:assert/strict'
import { SCREENS } from '../../src/screens.ts'
import { type Client, openSignedInClient } from '../support/clients/browser-client.ts'
import { valuesOf } from '../support/clients/screen-values.ts'
import { seedDeployment } from '../support/projects.ts'
import { type Samples, seedSamples } from '../support/sample-requests.ts'
import { tamper } from '../support/states.ts'
import { onBothEngines, type World } from '../support/world.ts'

/** The health of the service begins checks that continue after the request, and a stream goes on. */
const BESIDE = new Set(['showHealth', 'showChecks', 'followPage'])
const PAGES = SCREENS.filter(({ method, name }) => method === 'GET' && !BESIDE.has(name))

/** Leaves an element, an attribute and a comment, and holds what only a terminal or a text direction reads. `of`: what it was written as. */
function hostile(of: string): string {
  return `${of}'"--></title></textarea><img src=x onerror=alert(1)>&lt;i&gt;\u001b[31m\u001b]0;t\u0007`
}

/** How it begins as text: nothing of it ends an element or an attribute. */
function escaped(of: string): string {
  return `${of}&#39;&quot;--&gt;&lt;/title&gt;&lt;/textarea&gt;&lt;img src=x onerror=alert(1)&gt;&amp;lt;i&amp;gt;`
}

type Tampered = Parameters<typeof tamper>

/** TABLE texts that users and their clients write. No rule of a route protects a page: the stored rows have them. */
const TEXTS: readonly (readonly [table: Tampered[1], column: string])[] = [
  ['account', 'name'],
  ['account', 'description'],
  ['token', 'name'],
  ['env_var', 'key'],
  ['env_var', 'comment'],
  ['env_history', 'key'],
  ['shared_env_var', 'key'],
  ['shared_env_var', 'comment'],
  ['deployment', 'git_branch'],
  ['deployment', 'error_message'],
  ['deployment', 'error_code'],
  ['project_domain', 'git_branch'],
  ['integration', 'name'],
  ['log_drain', 'name'],
  ['invitation', 'email'],
  ['runner', 'hostname'],
  ['runner', 'version'],
]

async function open(world: World): Promise<{ samples: Samples; client: Client; failedId: string }> {
  const samples = await seedSamples(world)
  const said = {
    githubCommitMessage: hostile('message'),
    githubCommitRef: hostile('ref'),
    githubCommitSha: hostile('s'),
    githubCommitAuthorName: hostile('author'),
  }
  const failed = { url: 'web-9.apps.example.net', readyState: 'ERROR', meta: said }
  const failedId = await seedDeployment(world, samples.projectId, failed)
  const client = await openSignedInClient(world)
  await client.get('/console/account')
  for (const [table, column] of TEXTS)
    await tamper(world, table, { [column]: hostile(`${table}.${column}`) } as Tampered[2])
  return { samples, client, failedId }
}

onBothEngines(
  'a text that a user stored is text on every page, and ends no element and no attribute',
  async (world) => {
    const { samples, client, failedId } = await open(world)
    const seen = new Set<string>()
    const slugs = ['admin', 'team']
    const kinds = ['message', 'ref', 'author', ...TEXTS.map((one) => one.join('.'))]
    for (const { path } of PAGES)
      for (const slug of path.includes(':slug') ? slugs : ['']) {
        const values = valuesOf(path, samples)
        for (const id of path.includes('/deployments/:id') ? [values.id!, failedId] : [values.id!]) {
          const named = { ...values, slug, id }
          const address = path.replaceAll(/:(\w+)/g, (_, name: string) =>
            encodeURIComponent(named[name as 'id'] ?? 'x'),
          )
          const { status, text, headers } = await client.get(address)
          assert.ok(status < 500, address)
          if (!String(headers['content-type']).startsWith('text/html')) continue
          assert.doesNotMatch(text, /<img src=x|["']--><|onerror=alert\(1\)>/, address)
          for (const kind of kinds) if (text.includes(escaped(kind))) seen.add(kind)
        }
      }
    assert.deepEqual(
      kinds.filter((kind) => !seen.has(kind)),
      [],
      'a text of the table that no page shows',
    )
  },
)
