/**
 * The examples of /docs (reference.test.ts) and of the OpenAPI document are what a service answers to the very commands that are shown. After a change of
 * an answer `npm run examples` rewrites them. Those beyond the story: examples.long.test.ts next to this file.
 */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { after, test } from 'node:test'
import { promisify } from 'node:util'
import { curlOf, type Example, readExamples } from '../../../src/platform/openapi/examples.ts'
import { openApiText } from '../../../src/platform/openapi/pages.ts'
import { ROUTES } from '../../../src/routes.ts'
import { canRun, skipReason } from '../../support/programs.ts'
import { startDnsServer } from '../../support/servers/dns-server.ts'
import { onBothEngines } from '../../support/world.ts'
import { stableAnswers } from './stable-answers.ts'
import { tellStory } from './story.ts'

const dns = await startDnsServer()
after(() => dns.close())
const hasCurl = canRun('curl', '--version')
const run = promisify(execFile)

onBothEngines(
  'each command of the documents is answered as they say; npm run examples rewrites them',
  async (world, t) => {
    if (!hasCurl) return t.skip(skipReason('curl', 'curl', 'whether the examples of /docs are true'))
    const told = stableAnswers(await tellStory(world, dns)) as Record<string, Example>
    const kept = Object.entries(readExamples()).filter(([operationId]) => operationId in told)
    assert.deepEqual(told, Object.fromEntries(kept), 'an answer has changed: npm run examples')
  },
  { BERTH_DNS_SERVERS: dns.address },
)

test('each operation has an example in the OpenAPI document', () => {
  const examples = readExamples()
  const { paths } = JSON.parse(openApiText(ROUTES))
  assert.deepEqual(Object.keys(examples).toSorted(), ROUTES.map(({ operationId }) => operationId).toSorted())
  for (const route of ROUTES) {
    const { operationId } = route
    const example = examples[operationId] ?? assert.fail(`no example of ${operationId}`)
    const operation = paths[route.path.replaceAll(/:(\w+)/g, '{$1}')][route.method.toLowerCase()]
    const said = Object.values(operation.responses[route.status].content ?? {})[0] as { example?: unknown } | undefined
    const answer = route.jsonLines === 'always' ? (example.answer as unknown[])[0] : example.answer
    assert.deepEqual(said?.example, answer, operationId)
    for (const content of Object.values(operation.requestBody?.content ?? {}) as { example?: unknown }[])
      assert.deepEqual(content.example, example.body, operationId)
    for (const { name, in: place, required, example: value } of operation.parameters)
      if (required || (place === 'query' && example.url.includes(`${name}=`))) assert.ok(value !== undefined, name)
  }
})

test('a command quotes what a shell would read', async () => {
  const route = { method: 'POST', auth: 'public' } as const
  const hard = { text: `'; echo $HOME \`id\` "\\` }
  const command = curlOf(route, { url: '/x?a=1&b=2', body: hard }).replace(/^curl/, 'printf "%s\\n"')
  const { stdout } = await run('sh', ['-c', command], {
    env: { PATH: process.env.PATH, BERTH: 'http://b', TOKEN: 't' },
  })
  assert.deepEqual(JSON.parse(stdout.slice(stdout.indexOf('\n-d\n') + 4)), hard)
  assert.ok(stdout.includes('\nhttp://b/x?a=1&b=2\n-H\nAuthorization: Bearer t\n'))
})
