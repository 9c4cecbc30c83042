/** As whom sandboxed commands run. docs/sandbox.md: User. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runAsOf } from '../../src/sandbox/run-as.ts'

const USERS = () =>
  'root:x:0:0:root:/root:/bin/bash\nnobody:x:65534:65533:nobody:/:/bin/false\nberth-run:x:990:980::/:/bin/false\ntoor:x:0:0::/:/bin/sh\n'

test('root gives its rights away to the named user, else to the user nobody', () => {
  assert.deepEqual(runAsOf(undefined, true, USERS), { uid: 65534, gid: 65533 })
  assert.deepEqual(runAsOf('berth-run', true, USERS), { uid: 990, gid: 980 })
  assert.equal(runAsOf('berth-run', false, USERS), undefined)
})

test('a user that is missing or root is refused by name', () => {
  assert.throws(() => runAsOf('nemo', true, USERS), /no user nemo in \/etc\/passwd/)
  for (const name of ['root', 'toor']) assert.throws(() => runAsOf(name, true, USERS), /is root/)
})
