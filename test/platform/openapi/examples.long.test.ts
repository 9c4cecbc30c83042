/** The examples of all operations, of /docs and of the OpenAPI document, are real responses. Rewrite them after a change: `npm run examples`. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { Ajv2020 } from 'ajv/dist/2020.js'
import type { Route } from '../../../src/platform/http/route.ts'
import { type Example, readExamples } from '../../../src/platform/openapi/examples.ts'
import { ROUTES } from '../../../src/routes.ts'
import { withQuery } from '../../support/call.ts'
import { canRun, skipReason } from '../../support/programs.ts'
import { root } from '../../support/root.ts'
import { callerOf, sampleRequest, seedSamples, teamQuery } from '../../support/sample-requests.ts'
import { startDnsServer } from '../../support/servers/dns-server.ts'
import { onBothEngines, type World } from '../../support/world.ts'
import { stableAnswers } from './stable-answers.ts'
import { readJson, tellStory } from './story.ts'

const dns = await startDnsServer()
after(() => dns.close())

/** TABLE operations whose responses depend on the machine, the time or chance: they are called, and no response is kept. */
const DIFFERS: readonly string[] = [
  'updateProjectProtectionBypass',
  'linkProject',
  'updateProjectBranch',
  'createProjectTransferRequest',
  'acceptProjectTransferRequest',
  'updateSharedEnvVariable',
  'getActivity',
  'listUserEvents',
  'inviteUserToTeam',
  'testWebhook',
  'getIntegrations',
  'getIntegration',
  'operatorListIntegrations',
  'operatorGetIntegration',
  'updateIntegration',
  'operatorUpdateIntegration',
  'operatorMakePasswordLink',
  'operatorListAudit',
  'operatorListTimers',
  'operatorRunTimer',
  'operatorVerifyAudit',
  'operatorGetStatistics',
  'operatorListKeys',
  'operatorRotateKeys',
  'operatorGetHealth',
  'operatorGetReport',
  'operatorVerifyBackup',
  'unlinkProject',
  'operatorRetireKey',
  'operatorExportAudit',
  'operatorNoteKeyringCopy',
  'operatorListKnownBackups',
]
/** A longer answer is much like another one that is shown, such as that of `getProject`. */
const LONGEST = 3000

/** Asks each operation that has no example yet, as it is asked by a sample, and keeps that. What removes something comes last. */
async function askForAllOthers(world: World, examples: Record<string, Example>): Promise<void> {
  const samples = await seedSamples(world)
  const late = ({ method, operationId }: Route) => Number(method === 'DELETE') + Number(operationId === 'deleteProject')
  const others = ROUTES.filter(({ operationId }) => examples[operationId] === undefined)
  for (const route of others.toSorted((a, b) => late(a) - late(b))) {
    const { operationId } = route
    if (operationId === 'operatorRemoveMember') {
      const path = `/operator/v1/teams/${samples.teamId}/members/${samples.spare.id}` as const
      await world.operator('PUT', path, { role: 'VIEWER' })
    }
    const asked = sampleRequest(route, samples)
    const url = withQuery(asked.url, teamQuery(route, samples))
    const body = asked.body instanceof Blob ? await asked.body.text() : asked.body
    const { status, text } = await callerOf(route, world).try(asked.method, url, asked.body)
    assert.equal(status, route.status, `${operationId}: ${text}`)
    const isKept = text !== '' && text.length <= LONGEST && !DIFFERS.includes(operationId)
    examples[operationId] = {
      url,
      ...(body !== undefined && { body }),
      ...(isKept && { answer: route.textReply ? text : readJson(route, text) }),
    }
  }
}

onBothEngines(
  'each operation answers as its example says; npm run examples rewrites them',
  async (world, t) => {
    if (!canRun('curl', '--version'))
      return t.skip(skipReason('curl', 'curl', 'whether the examples of /docs are true'))
    const examples = await tellStory(world, dns)
    await askForAllOthers(world, examples)
    t.assert.fileSnapshot(stableAnswers(examples), join(root, 'src', 'platform', 'openapi', 'examples.json'))
  },
  { BERTH_DNS_SERVERS: dns.address },
)

test('each example fits the schema of its operation', () => {
  const ajv = new Ajv2020({ strict: false })
  const examples = readExamples()
  for (const { operationId, body, reply, textReply } of ROUTES) {
    const { body: sent, answer } = examples[operationId] ?? assert.fail(`no example of ${operationId}`)
    if (sent !== undefined) assert.ok(ajv.validate(body!, sent), `${operationId}: ${ajv.errorsText()}`)
    if (answer !== undefined && !textReply)
      assert.ok(ajv.validate(reply!, answer), `${operationId}: ${ajv.errorsText()}`)
  }
})
