package com.pinledger.client;

/** What is known of the device that runs the app; everything may be unknown (null). */
public final class Device {
    private final String deviceId;
    private final String userId;
    private final String installId;
    private final String appVersion;
    private final Long build;
    private final String country;

    private Device(Builder builder) {
        this.deviceId = builder.deviceId;
        this.userId = builder.userId;
        this.installId = builder.installId;
        this.appVersion = builder.appVersion;
        this.build = builder.build;
        this.country = builder.country;
    }

    public String appVersion() {
        return appVersion;
    }

    public Long build() {
        return build;
    }

    /** The country in upper case, or null if the device names none. */
    String knownCountry() {
        if (country == null || country.length() != 2) {
            return null;
        }
        if (!Ascii.isLetter(country.charAt(0)) || !Ascii.isLetter(country.charAt(1))) {
            return null;
        }
        String upper = new String(new char[] {Ascii.upper(country.charAt(0)), Ascii.upper(country.charAt(1))});
        return upper.equals("XX") || upper.equals("ZZ") ? null : upper;
    }

    /** The device's id of a kind ({@code device_id}, {@code user_id}, {@code install_id}), or null if it counts as missing. */
    String knownId(String kind) {
        String identifier;
        switch (kind) {
            case "device_id":
                identifier = deviceId;
                break;
            case "user_id":
                identifier = userId;
                break;
            case "install_id":
                identifier = installId;
                break;
            default:
                return null;
        }
        return identifier == null || countsAsMissing(identifier) ? null : identifier;
    }

    private static boolean countsAsMissing(String identifier) {
        boolean blank = true;
        for (int index = 0; index < identifier.length(); index++) {
            char character = identifier.charAt(index);
            if (character == 0) {
                return true;
            }
            blank &= isWhiteSpace(character);
        }
        if (blank) {
            return true;
        }
        String lower = Ascii.lower(identifier);
        return lower.equals("unknown") || lower.equals("anonymous") || lower.equals("00000000-0000-0000-0000-000000000000");
    }

    /**
     * White space as documents mean it. {@code Character.isWhitespace} takes other characters, such as U+001C, and not
     * U+00A0.
     */
    private static boolean isWhiteSpace(char character) {
        return character >= 0x09 && character <= 0x0d || character == 0x20 || character == 0x85 || character == 0xa0
                || character == 0x1680 || character >= 0x2000 && character <= 0x200a || character == 0x2028 || character == 0x2029
                || character == 0x202f || character == 0x205f || character == 0x3000;
    }

    /** Collects what is known of a device. */
    public static final class Builder {
        private String deviceId;
        private String userId;
        private String installId;
        private String appVersion;
        private Long build;
        private String country;

        public Builder deviceId(String value) {
            deviceId = value;
            return this;
        }

        public Builder userId(String value) {
            userId = value;
            return this;
        }

        public Builder installId(String value) {
            installId = value;
            return this;
        }

        /** The app's version as it names itself, such as {@code versionName}. */
        public Builder appVersion(String value) {
            appVersion = value;
            return this;
        }

        /** The app's build number, such as {@code versionCode}. */
        public Builder build(Long value) {
            build = value;
            return this;
        }

        /** The country in ISO 3166-1 alpha-2. */
        public Builder country(String value) {
            country = value;
            return this;
        }

        public Device build() {
            return new Device(this);
        }
    }
}
