/** Forms with a transaction of their own have the budgets of audit entries and events, as routes do. docs/limits.md: Budgets. */
import assert from 'node:assert/strict'
import { openSignedInClient } from '../../support/clients/browser-client.ts'
import { onBothEngines } from '../../support/world.ts'
import { seedIntegration } from '../../support/worlds/integration-world.ts'

const LIMITS = { BERTH_RATE_LIMITS: '{"audit-lines": 5}' }

onBothEngines(
  'an account cannot write more audit entries by forms than by the API',
  async (world) => {
    const { teamId } = world.credentials
    const scope = ['read:project']
    const { slug } = await seedIntegration(world, { scopes: scope })
    const page = `/integrations/${slug}/new?account=${teamId}`
    const client = await openSignedInClient(world)
    const approve = async () => {
      await client.get(page)
      return client.post(page, { decision: 'approve', selection: 'all', scope })
    }
    for (let times = 0; times < 5; times++) assert.equal((await approve()).status, 303)
    const codes = () => world.deps.db.read.selectFrom('authorization_code').select('hash').execute()
    assert.equal((await codes()).length, 5)
    const refused = await approve()
    assert.equal(refused.status, 429, refused.text)
    assert.match(refused.text, /Too many writes/)
    assert.equal((await codes()).length, 5, 'it changed nothing')
    const byRoute = await world.call.try('POST', `/v10/projects?teamId=${teamId}`, { name: 'web' })
    assert.equal(byRoute.status, 429, byRoute.text)
    assert.equal((await client.post('/sign-out')).status, 303, 'a user can sign out')
  },
  LIMITS,
)
