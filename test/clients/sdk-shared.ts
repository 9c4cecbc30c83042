/** Variables that several projects of an account have. */
import assert from 'node:assert/strict'
import type { Decoded } from './sdk-client.ts'
import type { Projects } from './sdk-projects.ts'
import type { Story } from './sdk-story.ts'

/** Makes, lists, reads, links, changes, unlinks and deletes them. */
export async function tellShared({ use, has }: Story, { bare, full }: Projects): Promise<void> {
  if (!has('createSharedEnvVariable')) return
  const evs = [{ key: 'SHARED_BY_SDK', value: 's', comment: 'of the story' }]
  const requestBody = { evs, type: 'encrypted', target: ['production', 'preview'], projectId: [bare.id] }
  const made = await use('createSharedEnvVariable', { requestBody }, ({ created, failed }) => {
    assert.deepEqual([created.length, failed], [1, []])
    assert.deepEqual(
      [created[0].key, created[0].projectId, created[0].comment],
      ['SHARED_BY_SDK', [bare.id], 'of the story'],
    )
  })
  const { id } = made.created[0]
  await use('listSharedEnvVariable', { search: 'by_sdk' }, ({ data, pagination }) => {
    // SDKs of before drop `securityIssues`.
    assert.deepEqual([data.length, data[0].id, data[0].securityIssues ?? []], [1, id, []])
    assert.equal(pagination.next, null)
  })
  await use('getSharedEnvVar', { id }, ({ value, decrypted }) => assert.deepEqual([value, decrypted], ['s', true]))
  const change = { value: 't', projectIdUpdates: { link: [full[0].id] } }
  await use('updateSharedEnvVariable', { requestBody: { updates: { [id]: change } } }, ({ updated }) =>
    assert.deepEqual(updated[0].projectId.toSorted(), [bare.id, full[0].id].toSorted()),
  )
  await use('unlinkSharedEnvVariable', { id, projectId: bare.id }, (said) => assert.equal(said.id, id))
  await use('getSharedEnvVar', { id }, ({ value, projectId }: Decoded) =>
    assert.deepEqual([value, projectId], ['t', [full[0].id]]),
  )
  await use('deleteSharedEnvVariable', { requestBody: { ids: [id] } }, ({ deleted }) => assert.deepEqual(deleted, [id]))
}
