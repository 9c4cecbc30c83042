/** The states of a deployment with files. docs/deploying-sites.md: States. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DEPLOYMENT_EVENTS, type DeploymentEvent, nextState } from '../../../src/delivery/deploys/states.ts'
import { READY_STATES, type ReadyState } from '../../../src/platform/db/deployment-tables.ts'

const NOW = 1_700_000_000_000

/** TABLE the whole of it: state -> event -> what changes. */
const EXPECTED: Readonly<Record<ReadyState, Partial<Record<DeploymentEvent, object>>>> = {
  QUEUED: {
    lease_acquired: { ready_state: 'INITIALIZING' },
    output_uploaded: { ready_state: 'BUILDING', building_at: NOW },
    failed: { ready_state: 'ERROR', failed_at: NOW },
    canceled: { ready_state: 'CANCELED', failed_at: NOW },
  },
  INITIALIZING: {
    build_started: { ready_state: 'BUILDING', building_at: NOW },
    lease_expired: { ready_state: 'QUEUED', building_at: null },
    failed: { ready_state: 'ERROR', failed_at: NOW },
    canceled: { ready_state: 'CANCELED', failed_at: NOW },
  },
  BUILDING: {
    lease_expired: { ready_state: 'QUEUED', building_at: null },
    output_stored: { ready_state: 'READY', ready_at: NOW },
    failed: { ready_state: 'ERROR', failed_at: NOW },
    canceled: { ready_state: 'CANCELED', failed_at: NOW },
  },
  READY: {},
  ERROR: {},
  CANCELED: {},
}

test('every event has its effect in every state, or none', () => {
  for (const state of READY_STATES)
    for (const event of DEPLOYMENT_EVENTS)
      assert.deepEqual(nextState(state, event, NOW), EXPECTED[state][event], `${state} × ${event}`)
})

test('every state is reachable from QUEUED, and READY, ERROR and CANCELED are reachable from each state that is not final', () => {
  const reachedFrom = (from: ReadyState) => {
    const reached = new Set([from])
    for (const state of reached)
      for (const event of DEPLOYMENT_EVENTS) {
        const next = nextState(state, event, NOW)
        if (next) reached.add(next.ready_state)
      }
    return [...reached].sort()
  }
  for (const state of ['QUEUED', 'INITIALIZING', 'BUILDING'] as const)
    assert.deepEqual(reachedFrom(state), READY_STATES.toSorted())
  for (const state of ['READY', 'ERROR', 'CANCELED'] as const) assert.deepEqual(reachedFrom(state), [state])
})

test('a deployment that is queued again has no times of the attempt before', () => {
  const row = { building_at: 5, ...nextState('BUILDING', 'lease_expired', NOW) }
  assert.deepEqual(row, { building_at: null, ready_state: 'QUEUED' })
})
