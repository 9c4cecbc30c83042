/** TABLE the pages of the console. docs/console.md. */
import type { Screen } from '../pages/screen.ts'
import { deploymentScreens } from './project/deployments.ts'
import { domainScreens } from './project/domain.ts'
import { domainListScreens } from './project/domains.ts'
import { projectListScreens } from './project/list.ts'
import { projectScreens } from './project/overview.ts'
import { promotionScreens } from './project/promotion.ts'
import { settingsScreens } from './project/settings.ts'
import { transferScreens } from './project/transfer.ts'
import { compareScreens } from './project/variables/compare.ts'
import { envFileScreens } from './project/variables/env-file.ts'
import { variableFormScreens } from './project/variables/form.ts'
import { variableHistoryScreens } from './project/variables/history.ts'
import { variableScreens } from './project/variables/list.ts'

export const CONSOLE: readonly Screen[] = [
  ...projectListScreens,
  ...projectScreens,
  ...variableScreens,
  ...variableFormScreens,
  ...envFileScreens,
  ...variableHistoryScreens,
  ...compareScreens,
  ...domainListScreens,
  ...domainScreens,
  ...deploymentScreens,
  ...promotionScreens,
  ...settingsScreens,
  ...transferScreens,
]
