/** Settings for tests only. */
import { BooleanSetting, IntegerSetting, type Setting } from './types.ts'

export const FOR_TESTS = {
  BERTH_TEST_CLOCK: {
    group: 'Running',
    type: BooleanSetting(['0', '1'], '1'),
    default: '0',
    description: 'With `1` the operator API can set the time of a sweep; for tests only.',
  },
  BERTH_TEST_PATIENCE: {
    group: 'Running',
    type: IntegerSetting(1, 100),
    default: '1',
    description:
      'Multiplies the timeouts of waiting requests, and of PostgreSQL connections, locks and statements; for tests only, on busy machines.',
  },
} as const satisfies Record<string, Setting>
