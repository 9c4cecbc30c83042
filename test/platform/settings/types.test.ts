/** What single settings may be, at their bounds. src/platform/settings/types.ts; docs/settings.md. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readConfig } from '../../../src/config.ts'
import { IntegerSetting } from '../../../src/platform/settings/types.ts'

test('a whole number is taken up to its bounds, both included', () => {
  const { read } = IntegerSetting(2, 5)
  assert.deepEqual([read('X', '2'), read('X', '5')], [2, 5])
  for (const text of ['1', '6', '', '3.5', '-3'])
    assert.throws(() => read('X', text), /X must be a whole number from 2 to 5/)
})

test('text that is neither an address nor a network is refused with an example', () => {
  for (const text of ['proxy', '10.0.0.0/33', '::1/129', '10.0.0.1, proxy/8'])
    assert.throws(
      () => readConfig({ BERTH_TRUSTED_PROXIES: text }),
      /must be addresses or networks such as 10\.0\.0\.0\/8/,
    )
})

test('a sandbox reaches the internet, nothing, or private networks too, and none larger than one for private use', () => {
  const read = (text: string) => readConfig({ BERTH_BUILD_NETWORK: text, BERTH_FUNCTION_NETWORK: text })
  const allowed = ['10.1.2.3', '10.0.0.0/8', 'fd00::/8', '2001:db8::5']
  for (const [text, network] of [
    ['internet', 'internet'],
    ['none', 'none'],
    [allowed.join(', '), { allow: allowed }],
  ] as const) {
    const { runner, functions } = read(text)
    assert.deepEqual([runner.network, functions.network], [network, network])
  }
  for (const text of ['registry', '10.0.0.0/33', 'fe80::1%eth0', ',', 'internet, 10.1.2.3', '10.1.2.3/x'])
    assert.throws(() => read(text), /BERTH_BUILD_NETWORK must be internet, none, or addresses and networks/, text)
  for (const text of ['0.0.0.0/0', '128.0.0.0/1', '::/0', '10.0.0.0/7'])
    assert.throws(() => read(text), /must have no network that is larger than/, text)
})
