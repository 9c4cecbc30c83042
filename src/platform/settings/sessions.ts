/** Session settings. docs/sign-in-and-consent.md: Sessions. */
import { IntegerSetting, type Setting } from './types.ts'

export const SESSIONS = {
  BERTH_SESSION_DAYS: {
    group: 'Accounts and projects',
    kind: IntegerSetting(1, 365),
    default: '30',
    description: 'Days that a browser stays signed in: [sign-in-and-consent.md](sign-in-and-consent.md#sessions).',
  },
  BERTH_OPERATOR_IDLE_HOURS: {
    group: 'Accounts and projects',
    kind: IntegerSetting(1, 720),
    default: '12',
    description: 'Hours without use after which the session of an operator expires.',
  },
} as const satisfies Record<string, Setting>
