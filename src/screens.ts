/** TABLE Screens of the browser pages. */

import { invitationScreens } from './accounts/members/invitation-page.ts'
import { accountScreens } from './accounts/sign-in/sign-in-page.ts'
import { singleSignOnScreens } from './accounts/single-sign-on/sso-page.ts'
import { CONSOLE } from './console/screens.ts'
import { factorScreens } from './console/second-factors/factors.ts'
import { consentScreens } from './integrations/consent/consent.ts'
import { installedScreens } from './integrations/consent/installations-page.ts'
import { oauthScreens } from './integrations/oauth/authorize.ts'
import { heldScreens } from './integrations/webhooks/held-page.ts'
import type { Screen } from './platform/pages/screen.ts'
import { siteSignInScreens } from './projects/site-sign-in/page.ts'

export const SCREENS: readonly Screen[] = [
  ...accountScreens,
  ...singleSignOnScreens,
  ...oauthScreens,
  ...consentScreens,
  ...installedScreens,
  ...invitationScreens,
  ...heldScreens,
  ...factorScreens,
  ...siteSignInScreens,
  ...CONSOLE,
]
