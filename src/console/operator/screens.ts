/** TABLE Operator screens. */
import type { Screen } from '../../platform/pages/screen.ts'
import { auditScreens } from './audit.ts'
import { backupScreens } from './backups.ts'
import { operatorDeliveryScreens } from './deliveries.ts'
import { integrationScreens } from './integrations.ts'
import { keyScreens } from './keys.ts'
import { overviewScreens } from './overview.ts'
import { healthScreens } from './system/health.ts'
import { runnerScreens } from './system/runners.ts'
import { teamScreens } from './teams.ts'
import { timerScreens } from './timers.ts'
import { tokenScreens } from './tokens.ts'
import { operatorUserScreens } from './users.ts'

const screens: readonly Screen[] = [
  ...overviewScreens,
  ...operatorUserScreens,
  ...teamScreens,
  ...tokenScreens,
  ...integrationScreens,
  ...keyScreens,
  ...timerScreens,
  ...runnerScreens,
  ...operatorDeliveryScreens,
  ...auditScreens,
  ...backupScreens,
  ...healthScreens,
]

export const operatorScreens: readonly Screen[] = screens.map((screen) => ({
  ...screen,
  operatorsOnly: true,
  requiresReauthentication: true,
}))
