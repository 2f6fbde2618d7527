/** Where models are enabled. */
export const settingsPage = 'https://github.com/settings/copilot/features'
