/** TABLE what people see in a browser. */

import { consentScreens } from './consent/consent.ts'
import { installedScreens } from './consent/installed-page.ts'
import { factorScreens } from './console/factors/factors.ts'
import { CONSOLE } from './console/screens.ts'
import { invitationScreens } from './members/invitation-page.ts'
import { oauthScreens } from './oauth/authorize.ts'
import type { Screen } from './pages/screen.ts'
import { accountScreens } from './sign-in/sign-in-page.ts'
import { singleSignOnScreens } from './single-sign-on/sso-page.ts'
import { heldScreens } from './webhooks/held-page.ts'

export const SCREENS: readonly Screen[] = [
  ...accountScreens,
  ...singleSignOnScreens,
  ...oauthScreens,
  ...consentScreens,
  ...installedScreens,
  ...invitationScreens,
  ...heldScreens,
  ...factorScreens,
  ...CONSOLE,
]
