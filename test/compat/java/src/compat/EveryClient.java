package compat;

import org.junit.jupiter.params.Parameter;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.EnumSource;

/** Cases that run through each kind of client. */
@ParameterizedClass(name = "{0}")
@EnumSource(Server.class)
abstract class EveryClient extends Case {
    @Parameter
    Server server;

    @Override
    Server server() {
        return server;
    }
}
