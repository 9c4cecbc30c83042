/** TABLE the pages of the console. docs/console.md. */
import type { Screen } from '../pages/screen.ts'
import { projectListScreens } from './projects.ts'

export const CONSOLE: readonly Screen[] = [...projectListScreens]
