/** An address that holds another is judged by the one that it holds. docs/decisions/0058-egress.md. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { isPublicAddress } from '../../../src/platform/adapters/addresses.ts'
import { onBothEngines } from '../../support/world.ts'

const hex = (bytes: number[]) => bytes.map((byte) => byte.toString(16).padStart(2, '0')).join('')
const words = (bytes: number[]) => `${hex(bytes.slice(0, 2))}:${hex(bytes.slice(2))}`
const turned = (bytes: number[]) => bytes.map((byte) => byte ^ 0xff)

/** Every form of IPv6 that holds an address of IPv4 in a place that is known. */
const FORMS: Record<string, (bytes: number[]) => string> = {
  mapped: (bytes) => `::ffff:${bytes.join('.')}`,
  'NAT64, as DNS64 makes it': (bytes) => `64:ff9b::${words(bytes)}`,
  'NAT64, with dots': (bytes) => `64:ff9b::${bytes.join('.')}`,
  '6to4': (bytes) => `2002:${words(bytes)}::1`,
  'the server of Teredo': (bytes) => `2001:0:${words(bytes)}:8000:63bf:${words(turned([8, 8, 8, 8]))}`,
  'a client of Teredo': (bytes) => `2001:0:${words([8, 8, 4, 4])}:8000:63bf:${words(turned(bytes))}`,
}

const PRIVATE =
  '127.0.0.1 10.0.0.1 172.16.0.1 192.168.1.1 169.254.169.254 100.64.0.1 0.0.0.0 224.0.0.1 192.0.2.1 198.18.0.1'
const PUBLIC = '8.8.8.8 1.1.1.1 93.184.215.14 172.32.0.1 192.169.0.1 100.128.0.1'
const bytesOf = (text: string) => text.split('.').map(Number)

for (const [name, form] of Object.entries(FORMS)) {
  test(`an address in the form of ${name} is as public as the one that it holds`, () => {
    for (const text of PRIVATE.split(' ')) assert.equal(isPublicAddress(form(bytesOf(text))), false, text)
    for (const text of PUBLIC.split(' ')) assert.equal(isPublicAddress(form(bytesOf(text))), true, text)
    const byte = fc.oneof(fc.constantFrom(0, 10, 100, 127, 169, 172, 192, 198, 203, 224, 255), fc.nat(255))
    fc.assert(
      fc.property(fc.tuple(byte, byte, byte, byte), (bytes) => {
        assert.equal(isPublicAddress(form(bytes)), isPublicAddress(bytes.join('.')))
      }),
      { numRuns: 2000 },
    )
  })
}

test('an address whose place for another is not known, or that is no longer used, is not public', () => {
  const none = ['64:ff9b:1::808:808', '64:ff9b:1:808:8:800::', '64:ff9b::1:808:808', '::808:808']
  for (const text of [...none, '::ffff:0:808:808', 'fe80::808:808', '2001:db8::808:808', 'x', ''])
    assert.equal(isPublicAddress(text), false, text)
  for (const text of ['2606:4700:4700::1111', '2001:4860:4860::8888']) assert.equal(isPublicAddress(text), true, text)
})

onBothEngines(
  'a webhook may go to an address that DNS64 made of a public one, and to none that holds a private one',
  async ({ call }) => {
    const register = (host: string) =>
      call.try('POST', '/v1/webhooks', { url: `https://${host}/`, events: ['project.created'] })
    for (const host of ['[64:ff9b::808:808]', '[2002:808:808::1]'])
      assert.equal((await register(host)).status, 200, host)
    for (const host of ['[64:ff9b::7f00:1]', '[64:ff9b::a9fe:a9fe]', '[64:ff9b:1::808:808]', '[2002:a00:1::1]']) {
      const { status, body } = await register(host)
      assert.deepEqual([status, body.error.code], [400, 'bad_request'], host)
    }
  },
)
