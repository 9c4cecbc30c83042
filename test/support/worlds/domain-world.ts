/** What the tests of domains share. */
import assert from 'node:assert/strict'
import type { DnsServer } from '../servers/dns-server.ts'
import type { Call, World } from '../world.ts'

/** A project with these domains, all verified (the platform suffix requires no verification). */
export async function seedDomains({ call }: World, names: string[], project = 'web') {
  const made = await call('POST', '/v10/projects', { name: project })
  for (const name of names) {
    const added = await call('POST', `/v10/projects/${project}/domains`, { name })
    assert.equal(added.status, 200, added.text)
  }
  return made.body
}

export const named = (list: { name: string }[]) => list.map(({ name }) => name)
export const events = async ({ deps }: World) =>
  (await deps.db.read.selectFrom('event').selectAll().orderBy('stamp').execute())
    .filter((event) => event.type.startsWith('project.domain.'))
    .map((event) => ({ type: event.type, projectId: event.project_id, payload: JSON.parse(event.payload_json) }))

/** Makes the project where the account has none of this name. */
async function ensureProject(call: Call, name: string): Promise<void> {
  const { status } = await call.try('GET', `/v9/projects/${name}`)
  if (status === 404) await call('POST', '/v10/projects', { name })
}

/** One account with a project, and short calls for its domains. */
export async function verifyAllClaims(dns: DnsServer, call: Call, project: string) {
  await ensureProject(call, project)
  const add = (name: string, more: object = {}) =>
    call.try('POST', `/v10/projects/${project}/domains`, { name, ...more })
  const verify = (name: string) => call.try('POST', `/v9/projects/${project}/domains/${name}/verify`)
  const read = async (name: string) => (await call('GET', `/v9/projects/${project}/domains/${name}`)).body
  return {
    call,
    add,
    verify,
    read,
    remove: (name: string) => call.try('DELETE', `/v9/projects/${project}/domains/${name}`),
    /** Adds a name, publishes its record and verifies it. */
    prove: async (name: string) => {
      const added = await add(name)
      assert.equal(added.status, 200, added.text)
      if (added.body.verified) return added.body
      return publishAndVerify(added.body)
    },
    /** Verifies a name that was added before. */
    proveAdded: async (name: string) => publishAndVerify(await read(name)),
  }

  async function publishAndVerify(domain: { name: string; verification: { domain: string; value: string }[] }) {
    const [challenge] = domain.verification
    dns.zones.set(challenge!.domain, { txt: [[challenge!.value]] })
    const verified = await verify(domain.name)
    dns.zones.delete(challenge!.domain)
    assert.equal(verified.status, 200, verified.text)
    return verified.body
  }
}

export async function seedTwoAccounts(dns: DnsServer, { call, user }: World) {
  return [
    await verifyAllClaims(dns, call, 'web'),
    await verifyAllClaims(dns, (await user('eve')).call, 'shop'),
  ] as const
}

export function assertRefused(
  answer: { status: number; body: { error: { code: string } } },
  status: number,
  code: string,
) {
  assert.equal(answer.status, status, JSON.stringify(answer.body))
  assert.equal(answer.body.error.code, code)
}

let serial = 0
/** A registrable name that no other test of the file uses: its DNS server is shared. */
export function freshApex(): string {
  return `n${++serial}.com`
}

/** A project with an unverified domain, and the record of its challenge. */
export async function claim(dns: DnsServer, call: Call, name: string, project = 'web') {
  await ensureProject(call, project)
  const added = await call('POST', `/v10/projects/${project}/domains`, { name })
  assert.equal(added.status, 200, added.text)
  assert.equal(added.body.verified, false)
  const [challenge] = added.body.verification
  return {
    domain: added.body,
    challenge,
    verify: () => call.try('POST', `/v9/projects/${project}/domains/${name}/verify`),
    read: async () => (await call('GET', `/v9/projects/${project}/domains/${name}`)).body,
    /** Puts the right record into DNS and verifies. */
    prove: async () => {
      publish(dns, challenge.domain, challenge.value)
      const proved = await call('POST', `/v9/projects/${project}/domains/${name}/verify`)
      assert.equal(proved.status, 200, proved.text)
      assert.equal(proved.body.verified, true)
      return proved.body
    },
  }
}

/** One more TXT record at a name, in addition to those there. */
export function publish(dns: DnsServer, at: string, value: string): void {
  const zone = dns.zones.get(at)
  dns.zones.set(at, { ...zone, txt: [...(zone?.txt ?? []), [value]] })
}
