/** Operations that read by a POST refuse a body as others do, and declare that. */
import assert from 'node:assert/strict'
import { refusalsOf } from '../../../src/platform/http/route.ts'
import { ROUTES } from '../../../src/routes.ts'
import { onBothEngines } from '../../support/world.ts'

const READS = ROUTES.filter(({ reads }) => reads)

onBothEngines('a POST that reads declares what it refuses of a body', async (world) => {
  assert.ok(READS.length > 1)
  for (const route of READS) {
    const refused = await world.call.try('POST', route.path, new Blob(['a'], { type: 'text/plain' }))
    assert.equal(refused.status, 415, `${route.path}: ${refused.text}`)
    const declared = refusalsOf(route)
    for (const key of ['unsupported_media_type', 'payload_too_large', 'overloaded'] as const)
      assert.ok(declared.includes(key), `${route.path}: ${key}`)
    assert.equal(declared.includes('storage_full'), false, `${route.path} writes nothing`)
  }
})
