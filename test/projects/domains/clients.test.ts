/** Published SDKs, old and new, do every domain operation that they have against a listening service, and decode each answer. */
import assert from 'node:assert/strict'
import { after } from 'node:test'
import { Vercel as Vercel110 } from 'sdk-1.1.0'
import { Vercel as Vercel163 } from 'sdk-1.6.3'
import { Vercel as Vercel12835 } from 'sdk-1.28.35'
import { startDnsServer } from '../../support/servers/dns-server.ts'
import { onBothEngines } from '../../support/world.ts'

const dns = await startDnsServer()
after(() => dns.close())

// biome-ignore lint/suspicious/noExplicitAny: three versions of one client, each with types of its own
type AnySdk = any
const SDKS: Record<string, (options: { serverURL: string; bearerToken: string }) => AnySdk> = {
  '1.1.0': (options) => new Vercel110(options),
  '1.6.3': (options) => new Vercel163(options),
  '1.28.35': (options) => new Vercel12835(options),
}

for (const [version, open] of Object.entries(SDKS)) {
  onBothEngines(
    `SDK ${version} does every domain operation`,
    async (world) => {
      const sdk = open({ serverURL: await world.listen(), bearerToken: world.credentials.token })
      const { projects, domains } = sdk
      const made = await projects.createProject({ requestBody: { name: 'web' } })
      const idOrName = made.id
      const name = 'www.example.com'
      const on = (domain: string) => ({ idOrName, domain })

      const added = await projects.addProjectDomain({ idOrName, requestBody: { name } })
      assert.equal(added.verified, false)
      const [challenge] = added.verification
      assert.equal(challenge.reason, 'pending_domain_verification')
      dns.zones.delete(challenge.domain)
      await assert.rejects(projects.verifyProjectDomain(on(name)), (error: AnySdk) =>
        /has no TXT record/.test(`${error.message} ${error.body} ${JSON.stringify(error.error)}`),
      )
      dns.zones.set(challenge.domain, { txt: [[challenge.value]] })
      const verified = await projects.verifyProjectDomain(on(name))
      assert.equal(verified.verified, true)
      assert.equal(verified.verification, undefined)

      const apex = await projects.addProjectDomain({
        idOrName,
        requestBody: { name: 'example.com', redirect: name, redirectStatusCode: 308 },
      })
      assert.equal(apex.redirect, name)
      const wildcard = await projects.addProjectDomain({
        idOrName,
        requestBody: { name: '*.example.com', gitBranch: 'next' },
      })
      assert.equal(wildcard.gitBranch, 'next')
      const updated = await projects.updateProjectDomain({
        ...on('example.com'),
        requestBody: { redirect: null, redirectStatusCode: null, gitBranch: 'beta' },
      })
      assert.equal(updated.redirect, null)
      assert.equal((await projects.getProjectDomain(on('*.example.com'))).name, '*.example.com')
      assert.equal((await projects.getProjectDomain(on('example.com'))).gitBranch, 'beta')

      const listed = await projects.getProjectDomains({
        idOrName,
        production: 'false',
        redirects: 'true',
        verified: 'true',
        limit: 2,
        order: 'ASC',
      })
      assert.deepEqual(
        listed.domains.map((domain: { name: string }) => domain.name),
        [name, 'example.com'],
      )
      assert.equal(typeof listed.pagination.next, 'number')
      const rest = await projects.getProjectDomains({ idOrName, order: 'ASC', until: listed.pagination.next })
      assert.deepEqual(
        rest.domains.map((domain: { name: string }) => domain.name),
        ['*.example.com'],
      )

      assert.equal(typeof (await domains.getDomainConfig({ domain: name })).misconfigured, 'boolean')
      if (domains.getDomainProjectDomains) {
        const ofApex = await domains.getDomainProjectDomains({ domain: 'example.com' })
        assert.equal(ofApex.projectDomains.length, 3)
      }
      if (projects.moveProjectDomain) {
        const second = await projects.createProject({ requestBody: { name: 'second' } })
        const moved = await projects.moveProjectDomain({ ...on('example.com'), requestBody: { projectId: second.id } })
        assert.equal(moved.projectId, second.id)
        await projects.moveProjectDomain({
          idOrName: second.id,
          domain: 'example.com',
          requestBody: { projectId: idOrName, redirect: name },
        })
      }
      await projects.removeProjectDomain(on(name))
      const left = await projects.getProjectDomains({ idOrName })
      assert.equal(left.domains.length, 2)
      for (const { name: each } of left.domains) await projects.removeProjectDomain(on(each))
    },
    { BERTH_DNS_SERVERS: dns.address },
  )
}
