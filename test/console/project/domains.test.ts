/** Domains of a project in the console, against a real DNS server. docs/console.md. */
import assert from 'node:assert/strict'
import { after, before } from 'node:test'
import { openSignedInClient } from '../../support/clients/browser-client.ts'
import { type DnsServer, startDnsServer } from '../../support/servers/dns-server.ts'
import { onBothEngines } from '../../support/world.ts'
import { freshApex } from '../../support/worlds/domain-world.ts'

let dns: DnsServer
const settings: Record<string, string> = { BERTH_EDGE_CNAME: 'edge.example.net' }
const edgeless: Record<string, string> = {}
before(async () => {
  dns = await startDnsServer()
  settings.BERTH_DNS_SERVERS = edgeless.BERTH_DNS_SERVERS = dns.address
})
after(() => dns.close())

const PATH = '/console/t/admin/projects/web/domains'

onBothEngines(
  'a domain is added, verified with the record that the page shows, changed and removed',
  async (world) => {
    const client = await openSignedInClient(world)
    await world.call('POST', '/v10/projects', { name: 'web' })
    const name = `www.${freshApex()}`
    assert.match((await client.get(PATH)).text, /No custom domains yet/)
    await client.get(`${PATH}/add`)
    const bad = await client.post(`${PATH}/add`, { name: 'not a domain' })
    assert.equal(bad.status, 400)
    assert.match(bad.text, /value="not a domain"[^>]*aria-invalid="true"/)
    const added = await client.post(`${PATH}/add`, { name })
    assert.deepEqual([added.status, added.location], [303, `${PATH}/${name}`], added.text)

    const page = await client.get(added.location)
    const [at, value] = [...page.text.matchAll(/<code class="copy">([^<]+)</g)].map(([, text]) => text!)
    assert.match(page.text, /Not verified/)
    assert.doesNotMatch(page.text, /<dt>Verified<|last looked up/)
    const early = await client.post(`${PATH}/${name}/verify`)
    assert.equal(early.status, 400)
    assert.match(early.text, /has no TXT record/)
    dns.zones.set(at!, { txt: [[`${value!.slice(0, -1)}0x`]] })
    assert.match((await client.post(`${PATH}/${name}/verify`)).text, /The TXT record at .* is &quot;/)
    dns.zones.set(at!, { txt: [[value!]] })
    const verified = await client.post(`${PATH}/${name}/verify`)
    assert.deepEqual([verified.status, verified.location], [303, `${PATH}/${name}`], verified.text)
    const seen = (await client.get(`${PATH}/${name}`)).text
    assert.match(seen, /state good"><svg.*?<\/svg>Verified/)
    assert.match(seen, /<dt>Verified<\/dt><dd><time[^>]*>just now<\/time><br>/)
    assert.match(
      seen,
      new RegExp(`A record of ${name.slice(4)} was last looked up <time[^>]*>just now</time>, and found`),
    )

    const apex = name.slice(4)
    await client.post(`${PATH}/add`, { name: apex, redirect: name, redirectStatusCode: '308' })
    assert.match((await client.get(PATH)).text, new RegExp(`redirects to ${name} <span class="soft">308`))
    const circle = await client.post(`${PATH}/${name}`, { redirect: name })
    assert.equal(circle.status, 400)
    assert.match(circle.text, new RegExp(`id="redirect" name="redirect" value="${name}"[^>]*aria-invalid`))
    assert.equal((await client.post(`${PATH}/${name}`, { gitBranch: 'next' })).status, 303)
    assert.match((await client.get(PATH)).text, /branch next/)
    assert.equal((await client.post(`${PATH}/${name}`, { gitBranch: '' })).status, 303)
    assert.equal((await world.call('GET', `/v9/projects/web/domains/${name}`)).body.gitBranch, null)
    assert.match((await client.get(`${PATH}?verified=false`)).text, /No domains match this filter/)

    const removed = await client.post(`${PATH}/${name}/remove`, { removeRedirects: 'on' })
    assert.deepEqual([removed.status, removed.location], [303, PATH], removed.text)
    assert.match((await client.get(PATH)).text, /No custom domains yet/)
  },
  settings,
)

onBothEngines(
  'the page shows where DNS points a name, and which record points it here',
  async (world) => {
    const client = await openSignedInClient(world)
    await world.call('POST', '/v10/projects', { name: 'web' })
    const name = `www.${freshApex()}`
    await client.get(`${PATH}/add`)
    await client.post(`${PATH}/add`, { name })
    const { text } = await client.get(`${PATH}/${name}`)
    assert.match(
      text,
      /<li[^>]*><h3>Verify ownership[\s\S]*<li[^>]*><h3>Point the domain here: add this record[\s\S]*edge\.example\.net[\s\S]*<li[^>]*><h3>Verify/,
    )
    const elsewhere = await client.get(`${PATH}/${name}/dns`)
    assert.equal(elsewhere.status, 200, elsewhere.text)
    assert.doesNotMatch(elsewhere.text, /berth-live/, 'name servers are queried only when a user asks')
    assert.match(elsewhere.text, /state bad"><svg.*?<\/svg>Not pointing here/)
    assert.match(
      elsewhere.text,
      /<li>They returned no [^<]*<\/li><li>They returned another [^<]*<\/li><li>They did not answer/,
    )
    assert.match(elsewhere.text, /edge\.example\.net/)
    dns.zones.set('edge.example.net', { a: ['192.0.2.1'] })
    dns.zones.set(name, { cname: 'edge.example.net' })
    assert.match((await client.get(`${PATH}/${name}/dns`)).text, /Points here \(CNAME record\)/)
  },
  settings,
)

onBothEngines(
  'the page of a domain shows its state next to its name, the short names of its records, and the recommended record',
  async (world) => {
    const client = await openSignedInClient(world)
    await world.call('POST', '/v10/projects', { name: 'web' })
    const apex = freshApex()
    for (const name of [apex, `www.${apex}`]) await world.call('POST', '/v10/projects/web/domains', { name })
    const { text } = await client.get(`${PATH}/www.${apex}`)
    assert.match(text, new RegExp(`<h1>www\\.${apex}</h1><span class="state warn"><svg.*?</svg>Not verified</span>`))
    assert.match(text, /Add both records/)
    assert.doesNotMatch(text, /you need not verify it again/, 'it was never verified')
    assert.deepEqual(shortNames(text, apex), ['_berth', 'www'])
    assert.match(
      text,
      /<dd>CNAME \(recommended\)<\/dd>[\s\S]*<dd>A, only if your DNS provider allows no CNAME here<\/dd>/,
    )
    assert.match(
      text,
      /<dt>Value<\/dt><dd><span class="copyable"><code class="copy">192\.0\.2\.1<.*<dd>or <span class="copyable"><code class="copy">192\.0\.2\.2</,
    )
    assert.deepEqual(shortNames((await client.get(`${PATH}/${apex}`)).text, apex), ['_berth', '@'])
    const list = (await client.get(PATH)).text
    assert.ok(list.includes(`href="${PATH}/${apex}#steps">Next:`), 'the list says what is next')
  },
  { ...settings, BERTH_EDGE_CNAME: 'edge.example.net', BERTH_EDGE_IPV4: '192.0.2.1,192.0.2.2' },
)

onBothEngines(
  'without an edge setting nothing is said to be wrong with a domain, and the page shows its DNS records',
  async (world) => {
    const client = await openSignedInClient(world)
    await world.call('POST', '/v10/projects', { name: 'web' })
    const name = `www.${freshApex()}`
    await world.call('POST', '/v10/projects/web/domains', { name })
    const path = `${PATH}/${name}/dns`
    const nothing = (await client.get(path)).text
    assert.match(
      nothing,
      /<span class="state idle"><svg.*?<\/svg>Unknown<\/span><\/p>\s*<p>One of these [^<]*<\/p>\s*<ul[^>]*><li>They returned no address[^<]*<\/li><li>They did not answer[^<]*<\/li><\/ul>/,
    )
    dns.zones.set(name, { a: ['192.0.2.9'] })
    const there = (await client.get(path)).text
    assert.match(
      there,
      /<span class="state idle"><svg.*?<\/svg>Unknown<\/span><\/p>\s*<p>It has an address from its A record/,
    )
    assert.match(there, /Checked <time[^>]*>just now<\/time>/)
    assert.ok(there.includes(`href="${path}">Check again</a>`))
    for (const setting of ['BERTH_EDGE_CNAME', 'BERTH_EDGE_IPV4'])
      assert.ok(there.replaceAll('<wbr>', '').includes(`<code class="name">${setting}</code>`), setting)
    for (const text of [nothing, there]) assert.doesNotMatch(text, /state (bad|good)|any address/)
  },
  edgeless,
)

onBothEngines(
  'what each name server returns is shown next to the record, with a button to check again',
  async (world) => {
    const client = await openSignedInClient(world)
    await world.call('POST', '/v10/projects', { name: 'web' })
    const name = `www.${freshApex()}`
    const { verification } = (await world.call('POST', '/v10/projects/web/domains', { name })).body
    const [{ domain: at, value }] = verification
    const path = `${PATH}/${name}/answers`
    const missing = (await client.get(path)).text
    for (const part of [at, value]) assert.ok(missing.includes(`<code class="copy">${part}</code>`), part)
    assert.match(missing, /Berth can verify the domain\. Berth checks automatically until <time/)
    assert.match(missing, /Name server 1<\/td><td[^>]*><span class="state warn"><svg.*?<\/svg>No record/)
    assert.ok(missing.includes(`href="${path}">Check again</a>`))
    dns.zones.set(at, { txt: [['of another service']] })
    assert.match((await client.get(path)).text, /Different record<\/span><\/td><td[^>]*>[^<]*of another service/)
    dns.zones.set(at, { txt: [[value]] })
    assert.match((await client.get(path)).text, /<span class="state good"><svg.*?<\/svg>Record found/)
    await world.call('POST', `/v9/projects/web/domains/${name}/verify`)
    const verified = (await client.get(path)).text
    assert.match(verified, /The domain is verified\. No record is needed/)
    assert.doesNotMatch(verified, /Expected record|can verify the domain/)
    assert.match((await client.get(`${PATH}/${name}`)).text, /you need not verify it again/)
  },
  settings,
)

/** The names to enter, as a page shows them, where the DNS provider appends the domain automatically. */
function shortNames(text: string, apex: string): string[] {
  const hints = text.matchAll(/If your provider appends <code>([^<]+)<\/code>, enter just <code>([^<]+)</g)
  return [...hints].map(([, added, short]) => {
    assert.equal(added, apex)
    return short!
  })
}

onBothEngines(
  'without an edge setting the page asks for one record, never for both, and shows an operator the missing setting',
  async (world) => {
    const guest = await world.user('guest')
    const name = `www.${freshApex()}`
    await guest.call('POST', '/v10/projects', { name: 'web' })
    await guest.call('POST', '/v10/projects/web/domains', { name })
    const client = await openSignedInClient(world, guest.id, 'guest')
    const path = `/console/t/guest/projects/web/domains/${name}`
    const { text } = await client.get(path)
    assert.match(text, /Add this record at/)
    assert.doesNotMatch(text, /[Bb]oth records|recommended|CNAME/)
    assert.match(text, /Ask your operator where to point this domain\./)
    assert.doesNotMatch(text, /BERTH_/)
    await world.operator('PATCH', `/operator/v1/users/${guest.id}`, { operator: true })
    assert.match(
      (await client.get(path)).text.replaceAll('<wbr>', ''),
      /Set <code class="name">BERTH_EDGE_CNAME<\/code>/,
    )
  },
)

onBothEngines(
  'the page says until when Berth checks automatically, and how the checks start again',
  async (world) => {
    const first = await openSignedInClient(world)
    await world.call('POST', '/v10/projects', { name: 'web' })
    const name = `www.${freshApex()}`
    const { checkedUntil } = (await world.call('POST', '/v10/projects/web/domains', { name })).body
    const day = new Date(checkedUntil!).toISOString().slice(0, 10)
    assert.match(
      (await first.get(`${PATH}/${name}`)).text,
      new RegExp(`Berth checks automatically until <time [^>]*>${day} [\\d:]+ UTC`),
    )
    world.deps.clock.set(checkedUntil! + 1)
    const client = await openSignedInClient(world)
    assert.match(
      (await client.get(`${PATH}/${name}`)).text,
      /Berth no longer checks automatically\. “Verify now” checks/,
    )
    const early = await client.post(`${PATH}/${name}/verify`)
    assert.equal(early.status, 400)
    assert.match(early.text, /Berth checks automatically until/)
  },
  settings,
)

onBothEngines(
  'the error of a name that another project has is next to its field, and an unresponsive name server is reported',
  async (world) => {
    const client = await openSignedInClient(world)
    const name = freshApex()
    await world.call('POST', '/v10/projects', { name: 'web' })
    await world.call('POST', '/v10/projects', { name: 'shop' })
    await world.call('POST', '/v10/projects/shop/domains', { name })
    await client.get(`${PATH}/add`)
    const taken = await client.post(`${PATH}/add`, { name })
    assert.equal(taken.status, 409)
    assert.match(taken.text, /id="name-fault"><svg.*?<\/svg><span>Cannot add .* another project of your account/)
    const [, holder] = /href="([^"]*)">View /.exec(taken.text)!
    assert.match((await client.get(holder!)).text, /Verify ownership/, 'the way to the project that has it')
    assert.equal((await client.get(`${PATH}/${name}`)).status, 404, 'not on this project')
    const [challenge] = (await world.call('GET', `/v9/projects/shop/domains/${name}`)).body.verification
    dns.zones.set(challenge.domain, { rcode: 'SERVFAIL' })
    const shop = PATH.replace('web', 'shop')
    await client.get(`${shop}/${name}`)
    const silent = await client.post(`${shop}/${name}/verify`)
    assert.equal(silent.status, 503)
    assert.match(silent.text, /did not answer/)
    assert.match(silent.text, /Verify ownership/, 'the page with the record')
  },
  settings,
)

onBothEngines(
  'a project without a domain of its own has its generated address, and the list of domains says so',
  async (world) => {
    const client = await openSignedInClient(world)
    await world.call('POST', '/v10/projects', { name: 'web' })
    const files = [{ file: '.vercel/output/config.json', data: '{"version":3}' }]
    await world.call('POST', '/v13/deployments', { name: 'web', target: 'production', files })
    const { targets } = (await world.call('GET', '/v9/projects/web')).body
    const [host] = targets.production?.automaticAliases ?? []
    assert.ok(host, JSON.stringify(targets))
    const { text } = await client.get(PATH)
    assert.match(text, new RegExp(`<h2>No custom domains yet</h2>[^]*<a [^>]*href="https://${host}[^>]*>${host}</a>`))
    await world.call('POST', '/v10/projects/web/domains', { name: 'web.apps.example.net' })
    const list = (await client.get(PATH)).text
    assert.doesNotMatch(list, /No custom domains/)
    assert.match(list, /<span class="badge accent">Production<\/span>/)
  },
  { BERTH_PLATFORM_SUFFIX: 'apps.example.net' },
)
