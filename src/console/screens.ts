/** TABLE the pages of the console. docs/console.md. */
import type { Screen } from '../pages/screen.ts'
import { projectListScreens } from './project/list.ts'
import { projectScreens } from './project/overview.ts'
import { variableScreens } from './project/variables.ts'

export const CONSOLE: readonly Screen[] = [...projectListScreens, ...projectScreens, ...variableScreens]
