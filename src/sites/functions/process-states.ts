/** The states of a process of a function. docs/functions.md: Processes. */

export type ProcessState = 'starting' | 'ready' | 'draining' | 'ended'
export type ProcessEvent = 'ready' | 'drain' | 'exit'

/** TABLE state → event → next state. An event without a row changes nothing. */
export const TRANSITIONS: Readonly<Record<ProcessState, Partial<Record<ProcessEvent, ProcessState>>>> = {
  starting: { ready: 'ready', drain: 'draining', exit: 'ended' },
  ready: { drain: 'draining', exit: 'ended' },
  draining: { exit: 'ended' },
  ended: {},
}

/** Returns the state after an event. Pure. */
export function nextState(state: ProcessState, event: ProcessEvent): ProcessState {
  return TRANSITIONS[state][event] ?? state
}
