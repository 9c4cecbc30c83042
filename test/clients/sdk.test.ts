/**
 * Every version of the official SDK calls, for a user and for a team, every method whose route Berth has: on bare projects and on
 * ones with everything set. Each answer decodes to what was set, each refusal to an error with its status and code. docs/spec/wire.md 4.
 */
import assert from 'node:assert/strict'
import { after } from 'node:test'
import { startDnsServer } from '../support/servers/dns-server.ts'
import { onBothEngines } from '../support/world.ts'
import { startGitHosts } from '../support/worlds/full-project.ts'
import { DRIVEN_SDKS, note } from './ledger.ts'
import { tellAccount } from './sdk-accounts.ts'
import { openSdk } from './sdk-client.ts'
import { tellBuild } from './sdk-deployments.ts'
import { tellDomains } from './sdk-domains.ts'
import { tellProjects } from './sdk-projects.ts'
import { tellRefusals } from './sdk-refusals.ts'
import { tellShared } from './sdk-shared.ts'
import { newStory, type Story } from './sdk-story.ts'

const dns = await startDnsServer()
const hosts = await startGitHosts()
after(() => Promise.all([dns.close(), hosts.close()]))

const SETTINGS = { BERTH_DNS_SERVERS: dns.address, BERTH_PLATFORM_SUFFIX: 'apps.example.net' }

for (const version of DRIVEN_SDKS) {
  onBothEngines(
    `SDK ${version} does everything it can, and decodes every answer`,
    async (world) => {
      const { userId, teamId, token } = world.credentials
      const sdk = await openSdk(version, token, await world.listen())
      const stories = [
        { label: 'person', accountId: userId, team: {} },
        { label: 'team', accountId: teamId, team: { teamId } },
      ].map((account) => newStory(world, sdk, account, { dns, hosts }))
      for (const story of stories) {
        await world.operator('PATCH', `/operator/v1/accounts/${story.accountId}`, { plan: 'enterprise' })
        await hosts.allow(world, story.accountId)
        await tellAll(story).catch((error) => story.faults.push(`${story.label}: it ended: ${error.stack}`))
      }
      const called = new Set(stories.flatMap((story) => [...story.called]))
      assert.equal(stories.flatMap(({ faults }) => faults).join('\n'), '')
      const missed = [...sdk.methods.keys()].filter((operation) => !called.has(operation))
      assert.deepEqual(missed, [], 'methods whose routes Berth has, and that the story does not call')
      for (const operation of called) {
        const remark = stories.map(({ remarks }) => remarks.get(operation)).find((said) => said !== undefined)
        note({ client: `sdk-${version}`, operation, engine: world.engine, outcome: 'works', ...remark })
      }
    },
    SETTINGS,
  )
}

async function tellAll(story: Story): Promise<void> {
  const projects = await tellProjects(story)
  await tellDomains(story, projects)
  await tellBuild(story, projects)
  await tellAccount(story, projects)
  await tellShared(story, projects)
  await tellRefusals(story, projects)
  await projects.end()
}
