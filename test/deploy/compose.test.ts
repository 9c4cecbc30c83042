/** The compose file says only what the specification of Compose knows, and confines the container. docs/deploying.md: Compose. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { documentsOf } from './recipes.ts'

const [recipe] = documentsOf('deploy/compose.yaml')

/** The keys of the specification of Compose that the file uses: a misspelt one is none of them. */
const KEYS = {
  recipe: ['name', 'services', 'volumes'],
  service: [
    ...['image', 'user', 'read_only', 'cap_drop', 'security_opt', 'restart', 'stop_grace_period', 'environment'],
    ...['ports', 'volumes', 'tmpfs', 'mem_limit', 'pids_limit'],
  ],
}

test('it says nothing but keys of Compose', () => {
  assert.deepEqual(Object.keys(recipe).toSorted(), KEYS.recipe.toSorted())
  assert.deepEqual(Object.keys(recipe.services), ['berth'])
  assert.deepEqual(Object.keys(recipe.services.berth).toSorted(), KEYS.service.toSorted())
})

test('the container may write its data and its temporary files, and nothing else', () => {
  const { berth } = recipe.services
  assert.deepEqual([berth.user, berth.read_only, berth.cap_drop], ['65532:65532', true, ['ALL']])
  assert.deepEqual(berth.security_opt, ['no-new-privileges:true'])
  assert.deepEqual(berth.volumes, ['data:/data'])
  assert.deepEqual(Object.keys(recipe.volumes), ['data'])
  assert.equal(berth.environment.BERTH_DATA, '/data')
  assert.match(berth.ports[0], new RegExp(`^127\\.0\\.0\\.1:\\d+:${berth.environment.PORT}$`))
  // A stop takes 9 s at the latest: docs/operations.md: Start and stop.
  assert.ok(Number.parseInt(berth.stop_grace_period, 10) > 9)
})
