/** TABLE what people see in a browser. */
import { accountScreens } from './accounts/sign-in-page.ts'
import type { Screen } from './http/screen.ts'

export const SCREENS: readonly Screen[] = [...accountScreens]
