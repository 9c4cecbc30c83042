/** Commands on the pages of empty lists: filled in, with a button that copies them. docs/console.md: Page layout. */
import assert from 'node:assert/strict'
import { openSignedInClient } from '../support/clients/browser-client.ts'
import { seedProject } from '../support/projects.ts'
import { onBothEngines } from '../support/world.ts'

/** Builds are off in tests: the output is built first. */
const DEPLOYS = ['vercel build --prod --yes', 'vercel deploy --prebuilt --prod']

/** TABLE pages with commands, and what their commands begin with. */
const PAGES: readonly (readonly [path: string, commands: readonly string[]])[] = [
  ['/console/t/crew', ['npx berth link-cli --team crew', 'vercel project add web', 'curl -X POST']],
  ['/console/t/team/projects/web/domains', ['vercel domains add', 'curl -X POST']],
  [
    '/console/t/team/projects/web/variables',
    ['berth env import web .env --target production --team team', 'curl -X POST'],
  ],
  ...['', '/deployments'].map(
    (page) =>
      [
        `/console/t/team/projects/web${page}`,
        ['npx berth link-cli --team team', 'vercel link --yes --project web', ...DEPLOYS],
      ] as const,
  ),
]

onBothEngines('each command has the address of the service and a button that copies it', async (world) => {
  await seedProject(world, 'web', `?teamId=${world.credentials.teamId}`)
  const client = await openSignedInClient(world)
  await client.get('/console/teams/new')
  await client.post('/console/teams/new', { slug: 'crew' })
  for (const [path, expected] of PAGES) {
    const { text } = await client.get(path)
    const commands = [...text.matchAll(/<pre>([^<]*)<\/pre>/g)].map(([, command]) => command!)
    assert.equal(commands.length, expected.length, `${path}: ${commands.join('\n')}`)
    for (const [at, start] of expected.entries()) assert.ok(commands[at]!.startsWith(start), `${path}: ${start}`)
    const copied = [...text.matchAll(/<\/pre><button type="button"[^>]* data-copy/g)]
    assert.equal(copied.length, commands.length, path)
    const calls = commands.filter((command) => command.startsWith('curl'))
    for (const call of calls) assert.ok(call.includes(`${world.deps.origin()}/`), call)
    assert.doesNotMatch(text, /\$BERTH/)
  }
})
