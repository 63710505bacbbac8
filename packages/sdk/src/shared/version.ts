/** The version of this package, which verifiers declare. A release raises it. */
export const SDK_VERSION = '0.1.0'
