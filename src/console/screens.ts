/** TABLE the pages of the console. docs/console.md. */
import type { Screen } from '../pages/screen.ts'
import { projectScreens } from './project.ts'
import { projectListScreens } from './projects.ts'
import { variableScreens } from './variables.ts'

export const CONSOLE: readonly Screen[] = [...projectListScreens, ...projectScreens, ...variableScreens]
