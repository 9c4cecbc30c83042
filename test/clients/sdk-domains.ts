/** Domains of every kind, on a bare project and a full one: verified, not verified, redirect, branch, wildcard. */
import assert from 'node:assert/strict'
import type { Decoded } from './sdk-client.ts'
import type { Projects } from './sdk-projects.ts'
import type { Story } from './sdk-story.ts'

/** Adds, verifies, lists, updates, moves and removes them. */
export async function tellDomains(story: Story, { bare, full }: Projects): Promise<void> {
  for (const [at, project] of [bare, full[0]].entries()) await tellProject(story, project, at, full[1])
}

async function tellProject(story: Story, project: Decoded, at: number, other: Decoded): Promise<void> {
  const { use, dns } = story
  const idOrName = project.id
  const apex = `${story.label}${at}.com`
  const suffixed = (label: string) => `${label}-${story.label}${at}.apps.example.net`
  const on = (domain: string) => ({ idOrName, domain })
  const add = (requestBody: object, check: (made: Decoded) => void) =>
    use('addProjectDomain', { idOrName, requestBody }, check)

  await add({ name: suffixed('main') }, (made) => {
    assert.deepEqual([made.verified, made.verification, made.projectId], [true, undefined, project.id])
    assert.deepEqual([made.name, made.apexName], [suffixed('main'), 'example.net'])
  })
  await add({ name: suffixed('old'), redirect: suffixed('main'), redirectStatusCode: 308 }, (made) =>
    assert.deepEqual([made.redirect, made.redirectStatusCode], [suffixed('main'), 308]),
  )
  await add({ name: suffixed('dev'), gitBranch: 'dev' }, (made) => assert.equal(made.gitBranch, 'dev'))
  const claimed = await add({ name: `www.${apex}` }, (made) =>
    assert.deepEqual([made.verified, made.apexName], [false, apex]),
  )
  await add({ name: `*.${apex}` }, (made) => assert.deepEqual([made.name, made.verified], [`*.${apex}`, false]))

  const [challenge] = claimed.verification
  assert.deepEqual([challenge.type, challenge.reason], ['TXT', 'pending_domain_verification'])
  dns.zones.set(challenge.domain, { txt: [[challenge.value]] })
  await use('verifyProjectDomain', on(`www.${apex}`), (proved) =>
    assert.deepEqual([proved.verified, proved.verification], [true, undefined]),
  )
  dns.zones.delete(challenge.domain)

  await readDomains(story, idOrName, suffixed, apex)
  await use('updateProjectDomain', { ...on(suffixed('dev')), requestBody: { gitBranch: 'beta' } }, (changed) =>
    assert.deepEqual([changed.gitBranch, changed.redirect], ['beta', null]),
  )
  const unsaid = { redirect: null, redirectStatusCode: null }
  await use('updateProjectDomain', { ...on(suffixed('old')), requestBody: unsaid }, (changed) =>
    assert.deepEqual([changed.redirect, changed.redirectStatusCode], [null, null]),
  )
  const moved = { ...on(suffixed('old')), requestBody: { projectId: other.id } }
  await use('moveProjectDomain', moved, (there) =>
    assert.deepEqual([there.projectId, there.name], [other.id, suffixed('old')]),
  )
  const gone = story.has('moveProjectDomain') ? other.id : idOrName
  await use('removeProjectDomain', { idOrName: gone, domain: suffixed('old') })
  await use('getProjectDomains', { idOrName }, ({ domains }) => assert.equal(domains.length, 4))
}

async function readDomains(story: Story, idOrName: string, suffixed: (label: string) => string, apex: string) {
  const { use } = story
  const all = [suffixed('main'), suffixed('old'), suffixed('dev'), `www.${apex}`, `*.${apex}`]
  await use('getProjectDomains', { idOrName, order: 'ASC' }, ({ domains, pagination }) => {
    assert.deepEqual(
      domains.map(({ name }: Decoded) => name),
      all,
    )
    assert.deepEqual({ ...pagination }, { count: 5, next: null, prev: null })
    assert.deepEqual([domains[1].redirect, domains[2].gitBranch, domains[3].verified], [suffixed('main'), 'dev', true])
  })
  await use(
    'getProjectDomains',
    { idOrName, limit: 2, order: 'ASC', production: 'true', redirects: 'false' },
    (page) => {
      assert.deepEqual(
        page.domains.map(({ name }: Decoded) => name),
        [suffixed('main'), `www.${apex}`],
      )
    },
  )
  for (const domain of all)
    await use('getProjectDomain', { idOrName, domain }, (found) =>
      assert.deepEqual([found.name, found.projectId], [domain, idOrName]),
    )
  await use('getDomainConfig', { domain: `www.${apex}` }, ({ misconfigured }) => assert.equal(misconfigured, true))
  await use('getCerts', {}, ({ certs }) => assert.deepEqual(certs, []))
  await use('getRecords', { domain: apex }, (answer) => assert.deepEqual(answer.records, []))
  await use('getDomainProjectDomains', { domain: apex }, ({ projectDomains }) =>
    assert.deepEqual(projectDomains.map(({ name }: Decoded) => name).toSorted(), [`*.${apex}`, `www.${apex}`]),
  )
}
